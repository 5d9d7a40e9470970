// A level of the tree: TERMS numbers become half as many, with the same sum, in an enabled cycle. The tree of TERMS is such
// a level and the tree of what it leaves; that of one term is the reduction. So the levels and the reductions prove the
// trees of up to 32 terms.
module sum_tree_level #(
    parameter int TERMS = 4
) (
    input logic clk,
    input logic en,
    input logic [31:0][32:0] values
);
  localparam int LEFT = (TERMS + 1) / 2;
  logic [32:0] terms[TERMS], earlier[TERMS];
  logic [33:0] stood[LEFT];
  logic [32:0] sum, sum_stood;
  for (genvar i = 0; i < TERMS; i++) begin : g_terms
    assign terms[i] = values[i];
  end
  sum_tree #(.TERMS(TERMS)) dut (.clk, .en, .terms, .sum);
  logic begun = 0, moved;
  always_ff @(posedge clk) begin
    begun <= 1;
    moved <= en;
    sum_stood <= sum;
    if (begun && !moved) assert (sum == sum_stood);
    for (int i = 0; i < TERMS; i++) earlier[i] <= terms[i];
    for (int i = 0; i < LEFT; i++) begin
      stood[i] <= dut.g_level.level[i];
      if (begun && !moved) assert (dut.g_level.level[i] == stood[i]);
      if (begun && moved) begin
        if (2 * i + 1 == TERMS) assert (dut.g_level.level[i] == 34'(earlier[TERMS-1]));
        else assert (35'(dut.g_level.level[i]) == 35'(earlier[2*i]) + 35'(earlier[2*i+1 < TERMS ? 2*i+1 : 0]));
      end
    end
  end
endmodule

module sum_tree_levels (
    input logic clk,
    input logic en,
    input logic [31:0][32:0] values
);
  for (genvar terms = 2; terms <= 32; terms++) begin : g_level
    sum_tree_level #(.TERMS(terms)) level (.clk, .en, .values);
  end
endmodule

// The reduction of any sum of 2^H residues, after the levels of a tree.
module sum_reduction
  import whorl_pkg::*;
#(
    parameter int H = 2
) (
    input logic clk,
    input logic [32+H:0] s
);
  logic [32+H:0] terms[1];
  logic [32:0] sum;
  assign terms[0] = s;
  sum_tree #(.TERMS(1), .WIDTH(33 + H)) dut (.clk, .en(1'b1), .terms, .sum);
  logic n = 0;
  logic [32+H:0] s1;
  logic [(1<<H)-1:0] multiple;
  for (genvar k = 0; k < 1 << H; k++) begin : g_multiple
    assign multiple[k] = s1 == (33 + H)'(64'(sum) + 64'(k) * 64'(P));
  end
  always_ff @(posedge clk) begin
    n <= 1;
    s1 <= s;
    assume (64'(s) < (64'(P) << H));
    if (n) assert (sum < P && multiple != '0);
  end
endmodule
