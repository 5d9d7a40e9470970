// A level of the tree: TERMS residues become half as many, whose sum is the same modulo p, in an enabled cycle. The tree
// of TERMS is such a level and the tree of what it leaves; that of one term is a wire. So the levels that are asked for,
// all that trees of up to 15 terms have, prove these trees.
module sum_tree_level
  import whorl_pkg::*;
#(
    parameter int TERMS = 4
) (
    input logic clk,
    input logic en,
    input logic [14:0][32:0] values
);
  localparam int LEFT = (TERMS + 1) / 2;
  logic [32:0] terms[TERMS], earlier[TERMS], stood[LEFT];
  logic [32:0] sum;
  for (genvar i = 0; i < TERMS; i++) begin : g_terms
    assign terms[i] = values[i];
  end
  sum_tree #(.TERMS(TERMS)) dut (.clk, .en, .terms, .sum);
  logic begun = 0, moved;
  always_ff @(posedge clk) begin
    begun <= 1;
    moved <= en;
    for (int i = 0; i < TERMS; i++) begin
      assume (terms[i] < P);
      earlier[i] <= terms[i];
    end
    for (int i = 0; i < LEFT; i++) begin
      stood[i] <= dut.g_more.level[i];
      if (begun && !moved) assert (dut.g_more.level[i] == stood[i]);
      if (begun && moved) begin
        assert (dut.g_more.level[i] < P);
        if (2 * i + 1 == TERMS) assert (dut.g_more.level[i] == earlier[TERMS-1]);
        else
          assert (35'(dut.g_more.level[i]) == 35'(earlier[2*i]) + 35'(earlier[2*i+1 < TERMS ? 2*i+1 : 0])
                  || 35'(dut.g_more.level[i]) + 35'(P) == 35'(earlier[2*i]) + 35'(earlier[2*i+1 < TERMS ? 2*i+1 : 0]));
      end
    end
    if (begun && LEFT == 1) assert (sum == dut.g_more.level[0]);
  end
endmodule

module sum_tree_levels (
    input logic clk,
    input logic en,
    input logic [14:0][32:0] values
);
  sum_tree_level #(.TERMS(2)) of_2 (.clk, .en, .values);
  sum_tree_level #(.TERMS(3)) of_3 (.clk, .en, .values);
  sum_tree_level #(.TERMS(4)) of_4 (.clk, .en, .values);
  sum_tree_level #(.TERMS(6)) of_6 (.clk, .en, .values);
  sum_tree_level #(.TERMS(7)) of_7 (.clk, .en, .values);
  sum_tree_level #(.TERMS(8)) of_8 (.clk, .en, .values);
  sum_tree_level #(.TERMS(15)) of_15 (.clk, .en, .values);
endmodule
