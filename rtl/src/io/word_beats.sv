// Puts words together into beats, the lowest first.
// In: words of WIDTH bits; `last` ends the beat, whose other words are 0. Out: beats, each in the cycle after its last
// word; no word is taken until the beat is.
module word_beats #(
    parameter int DATA_BITS = 512,
    parameter int WIDTH = 64
) (
    input  logic                   clk,
    input  logic                   rst_n,
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [WIDTH-1:0]       in_word,
    input  logic                   in_last,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [DATA_BITS-1:0]   out_data
);
  localparam int WORDS = DATA_BITS / WIDTH;
  localparam int CW = WORDS > 1 ? $clog2(WORDS) : 1;
  logic [WORDS-1:0][WIDTH-1:0] beat;
  logic [CW-1:0] at;
  assign in_ready = !out_valid;
  assign out_data = beat;
  always_ff @(posedge clk)
    if (!rst_n) begin
      out_valid <= 1'b0;
      at <= '0;
    end else begin
      if (out_valid && out_ready) out_valid <= 1'b0;
      if (in_valid && in_ready) begin
        at <= in_last || at == CW'(WORDS - 1) ? '0 : at + 1'b1;
        if (in_last || at == CW'(WORDS - 1)) out_valid <= 1'b1;
      end
    end
  always_ff @(posedge clk)
    if (in_valid && in_ready)
      for (int w = 0; w < WORDS; w++)
        if (at == CW'(w)) beat[w] <= in_word;
        else if (at == '0) beat[w] <= '0;
endmodule
