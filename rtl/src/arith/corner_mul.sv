// Product of two numbers of 7 bits, in LUTs.
// In: a, b. Out: product = a·b, 2 enabled cycles later; one a cycle.
// b has four digits from -2 to 2, digit i from its bits 2i + 1, 2i and 2i - 1. A row is digit·a, or what lacks 1 to it
// where the digit is negative. A pair of equal bits below an addition carries that 1 into it, and takes no LUT.
module corner_mul (
    input  logic        clk,
    input  logic        en,
    input  logic [6:0]  a,
    input  logic [6:0]  b,
    output logic [13:0] product
);
  function automatic logic [8:0] times(logic [6:0] of, logic [2:0] bits);
    logic [8:0] magnitude;
    case (bits)
      3'b000, 3'b111: magnitude = '0;
      3'b011, 3'b100: magnitude = {1'b0, of, 1'b0};
      default: magnitude = {2'b00, of};
    endcase
    return bits[2] ? ~magnitude : magnitude;
  endfunction

  logic [8:0] row0, row1, row2, row3;
  assign row0 = times(a, {b[1:0], 1'b0});
  assign row1 = times(a, b[3:1]);

  logic [6:0] a1;
  logic [6:3] b1;
  logic [12:0] sum1, sum2, sum3;  // each with the bit that carries below
  logic [11:0] upper1;            // the sum of the first two rows
  assign sum1 = {{3{row0[8]}}, row0, 1'b0} - {~row1[8], ~row1, 2'b11, ~b[1]};
  always_ff @(posedge clk) if (en) begin
    upper1 <= sum1[12:1];
    a1 <= a;
    b1 <= b[6:3];
  end
  assign row2 = times(a1, b1[5:3]);
  assign row3 = times(a1, {1'b0, b1[6:5]});
  assign sum2 = {{2{upper1[11]}}, upper1[11:2], 1'b0} - {~row2[8], ~row2, 2'b11, ~b1[3]};
  assign sum3 = {{2{sum2[12]}}, sum2[12:3], 1'b0} - {~row3[8], ~row3, 2'b11, ~b1[5]};
  always_ff @(posedge clk) if (en) product <= {sum3[10:1], sum2[2:1], upper1[1:0]};
  logic unused;
  assign unused = ^{sum1[0], sum2[0], sum3[12:11], sum3[0]};
endmodule
