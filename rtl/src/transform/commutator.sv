// Exchanges the bit that tells two streams apart with the bit of weight DEPTH of the row's number.
// In: rows (top, bottom) of WIDTH bits each, and `swap`, that bit of the row's number. Out: the same
// words in rows, DEPTH enabled cycles later: the top stream has those of rows with the bit 0.
module commutator #(
    parameter int WIDTH = 33,
    parameter int DEPTH = 4
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             en,
    input  logic             swap,
    input  logic [WIDTH-1:0] in_top,
    input  logic [WIDTH-1:0] in_bottom,
    output logic [WIDTH-1:0] out_top,
    output logic [WIDTH-1:0] out_bottom
);
  logic [WIDTH-1:0] late, switched;
  delay_line #(.WIDTH(WIDTH), .DEPTH(DEPTH)) before_switch (
      .clk, .rst_n, .en, .d(in_bottom), .q(late));
  assign switched = swap ? late : in_top;
  assign out_bottom = swap ? in_top : late;
  delay_line #(.WIDTH(WIDTH), .DEPTH(DEPTH)) after_switch (
      .clk, .rst_n, .en, .d(switched), .q(out_top));
endmodule
