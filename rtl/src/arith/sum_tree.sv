// Sum of TERMS residues modulo p.
// In: TERMS residues. Out: their sum, tree_latency(TERMS) = ceil(log2 TERMS) enabled cycles later.
module sum_tree
  import whorl_pkg::*;
#(
    parameter int TERMS = 4
) (
    input  logic        clk,
    input  logic        en,
    input  logic [32:0] terms[TERMS],
    output logic [32:0] sum
);
  if (TERMS == 1) begin : g_one
    assign sum = terms[0];
    logic unused;
    assign unused = clk & en;
  end else begin : g_more
    localparam int PAIRS = TERMS / 2, LEFT = TERMS - PAIRS;
    logic [32:0] level[LEFT];
    always_ff @(posedge clk) if (en) begin
      for (int i = 0; i < PAIRS; i++) level[i] <= add_mod(terms[2*i], terms[2*i+1]);
      if (LEFT > PAIRS) level[LEFT-1] <= terms[TERMS-1];
    end
    sum_tree #(.TERMS(LEFT)) rest (.clk, .en, .terms(level), .sum);
  end
endmodule
