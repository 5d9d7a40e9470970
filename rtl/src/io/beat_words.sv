// Takes beats apart into words.
// In: beats. Out: their words of WIDTH bits, the lowest first, one a cycle; `skip`, in a cycle in which a word is
// taken, drops the rest of its beat.
module beat_words #(
    parameter int DATA_BITS = 512,
    parameter int WIDTH = 32
) (
    input  logic                   clk,
    input  logic                   rst_n,
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [DATA_BITS-1:0]   in_data,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [WIDTH-1:0]       out_word,
    input  logic                   skip
);
  localparam int WORDS = DATA_BITS / WIDTH;
  localparam int CW = $clog2(WORDS + 1);
  logic [DATA_BITS-1:0] beat;
  logic [CW-1:0] left;
  assign in_ready = left == '0;
  assign out_valid = left != '0;
  assign out_word = beat[WIDTH-1:0];
  always_ff @(posedge clk)
    if (!rst_n) left <= '0;
    else if (in_valid && in_ready) left <= CW'(WORDS);
    else if (out_valid && out_ready) left <= skip ? '0 : left - 1'b1;
  always_ff @(posedge clk)
    if (in_valid && in_ready) beat <= in_data;
    else if (out_valid && out_ready) beat <= beat >> (WORDS > 1 ? WIDTH : 0);
endmodule
