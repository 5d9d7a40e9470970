// Butterfly of the inverse transform.
// In: u, v and the twiddle w. Out: u + v and (u - v)·w modulo p, BUTTERFLY_LATENCY = 10 enabled cycles later.
module butterfly_gs
  import whorl_pkg::*;
(
    input  logic        clk,
    input  logic        rst_n,
    input  logic        en,
    input  logic [32:0] u,
    input  logic [32:0] v,
    input  logic [32:0] w,
    output logic [32:0] sum,
    output logic [32:0] product
);
  logic [32:0] plus, minus, w_late;
  logic [33:0] total, difference;
  assign minus = plus_p(difference);
  always_ff @(posedge clk) if (en) begin
    total <= {1'b0, u} + {1'b0, v};
    difference <= {1'b0, u} - {1'b0, v};
    w_late <= w;
    plus <= less_p(total);
  end
  mod_mul multiplier (.clk, .en, .a(minus), .b(w_late), .r(product));
  delay_line #(.WIDTH(33), .DEPTH(MUL_LATENCY - 1)) wait_sum (.clk, .rst_n, .en, .d(plus), .q(sum));
endmodule
