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
  logic [32:0] product, u_late;
  mod_mul multiplier (.clk, .en, .a(v), .b(w), .r(product));
  delay_line #(.WIDTH(33), .DEPTH(MUL_LATENCY)) wait_u (.clk, .rst_n, .en, .d(u), .q(u_late));
  always_ff @(posedge clk) if (en) begin
    plus <= add_mod(u_late, product);
    minus <= sub_mod(u_late, product);
  end
endmodule
