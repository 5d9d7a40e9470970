// The rule of every AXI channel: what is offered stays as it is until it is taken.
// In: the channel's valid and ready, and all that goes with it as one vector. Out: an assertion in the cycle after
// the one in which the rule was broken. With ASSUMED the rule is an assumption, for proofs.
module axi_channel_checker #(
    parameter int WIDTH = 32,
    parameter bit ASSUMED = 0
) (
    input logic             clk,
    input logic             rst_n,
    input logic             valid,
    input logic             ready,
    input logic [WIDTH-1:0] payload
);
  logic waited;
  logic [WIDTH-1:0] earlier;
  always_ff @(posedge clk) begin
    waited <= rst_n && valid && !ready;
    earlier <= payload;
  end
  if (ASSUMED) begin : g_assumed
    always_ff @(posedge clk) if (rst_n && waited) assume (valid && payload == earlier);
  end else begin : g_asserted
    always_ff @(posedge clk)
      if (rst_n && waited) begin
        assert (valid) else $error("valid fell before ready came");
        assert (payload == earlier) else $error("what is offered changed before it was taken");
      end
  end
endmodule
