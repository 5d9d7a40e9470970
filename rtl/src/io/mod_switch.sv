// Rounds a residue modulo p to modulus 2^32.
// In: x below p. Out: floor((x·2^32 + (p-1)/2)/p) mod 2^32, 3 enabled cycles later; one a cycle.
// x·2^32/p is x/2·(1 + 2^-13 + 2^-26 + …), which the first stage takes to an eighth and rounds: the quotient is
// wrong by at most 1. The second stage has the remainder, which lies in [-p, 2p); the third corrects.
module mod_switch
  import whorl_pkg::*;
(
    input  logic        clk,
    input  logic        en,
    input  logic [32:0] x,
    output logic [31:0] r
);
  logic [32:0] estimate;
  logic [32:0] quotient1, quotient2;
  logic [4:0] x1;
  logic signed [36:0] remainder2;
  // Modulo 2^37: the remainder fits it.
  logic [36:0] product1;
  assign estimate = 33'(({1'b0, x, 2'b00} + 36'(x[32:11]) + 36'(x[32:24]) + 36'd4) >> 3);
  assign product1 = {quotient1[3:0], 33'd0} - {quotient1[16:0], 20'd0} + {4'd0, quotient1};
  localparam logic signed [36:0] P_SIGNED = {4'd0, P};
  always_ff @(posedge clk) if (en) begin
    quotient1 <= estimate;
    x1 <= x[4:0];
    quotient2 <= quotient1;
    remainder2 <= $signed({x1, 32'd0} + {4'd0, HALF} - product1);
    r <= remainder2 < 0 ? 32'(quotient2 - 33'd1)
         : remainder2 >= P_SIGNED ? 32'(quotient2 + 33'd1) : quotient2[31:0];
  end
endmodule
