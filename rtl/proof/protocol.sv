// What the proofs share: how they begin, and the rule of every stream.

// A reset comes first, and may come again in any cycle. Out: started, from the first cycle after it on.
module from_reset (
    input  logic clk,
    input  logic rst_n,
    output logic started
);
  initial started = 0;
  always_ff @(posedge clk) begin
    started <= 1;
    if (!started) assume (!rst_n);
  end
endmodule

// A word that was offered stays until it is taken. GIVEN = 1: the environment's words, which are assumed to stay.
module stays #(
    parameter int WIDTH = 1,
    parameter bit GIVEN = 0
) (
    input logic clk,
    input logic rst_n,
    input logic valid,
    input logic ready,
    input logic [WIDTH-1:0] data
);
  logic started = 0, waited;
  logic [WIDTH-1:0] earlier;
  always_ff @(posedge clk) begin
    started <= 1;
    waited <= rst_n && valid && !ready;
    earlier <= data;
    if (started && waited) begin
      if (GIVEN) assume (valid && data == earlier);
      else assert (valid && data == earlier);
    end
  end
endmodule

// A pipeline that stands still as a whole: as many words come out as went in, and they stay until they are taken.
module pipeline_rules #(
    parameter int WIDTH = 1,
    parameter int STAGES = 1
) (
    input logic clk,
    input logic rst_n,
    input logic taken,
    input logic [STAGES-1:0] valid,  // of its registers, the last one first out
    input logic out_ready,
    input logic [WIDTH-1:0] data
);
  logic started, out_valid;
  logic [7:0] held;
  assign out_valid = valid[STAGES-1];
  from_reset begins (.clk, .rst_n, .started);
  stays #(.WIDTH(WIDTH)) out (.clk, .rst_n, .valid(out_valid), .ready(out_ready), .data);
  always_ff @(posedge clk) begin
    held <= !rst_n ? 8'd0 : held + 8'(taken) - 8'(out_valid && out_ready);
    if (started) assert (held == 8'($countones(valid)));
  end
endmodule
