// Butterfly of the forward transform.
// In: u, v and the twiddle w. Out: u + v·w and u - v·w modulo p, BUTTERFLY_LATENCY = 10 enabled cycles later.
module butterfly_ct
  import whorl_pkg::*;
(
    input  logic        clk,
    input  logic        rst_n,
    input  logic        en,
    input  logic [32:0] u,
    input  logic [32:0] v,
    input  logic [32:0] w,
    output logic [32:0] plus,
    output logic [32:0] minus
);
  localparam int PRODUCT = BUTTERFLY_LATENCY - 2;  // then sum and difference, then their corrections
  logic [32:0] product, u_late;
  logic [33:0] sum, difference;
  mod_mul #(.LATENCY(PRODUCT)) multiplier (.clk, .en, .a(v), .b(w), .r(product));
  delay_line #(.WIDTH(33), .DEPTH(PRODUCT)) wait_u (.clk, .rst_n, .en, .d(u), .q(u_late));
  always_ff @(posedge clk) if (en) begin
    sum <= {1'b0, u_late} + {1'b0, product};
    difference <= {1'b0, u_late} - {1'b0, product};
    plus <= less_p(sum);
    minus <= plus_p(difference);
  end
endmodule
