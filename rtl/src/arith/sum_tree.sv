// Sum of TERMS residues modulo p.
// In: TERMS residues. Out: their sum, tree_latency(TERMS) + 1 = ceil(log2 TERMS) + 1 enabled cycles later.
// A level of the tree adds integers in pairs. After the last one comes the reduction of a sum of WIDTH = 33 + H bits,
// h·2^33 + l with l = l1·2^20 + l0, less than 2^H·p. Its quotient q is h, or h + 1 if l + h·(2^20 - 1) is p or more,
// that is, if l1 + h is above 8191, or 8191 with l0 above h. The remainder is l + q·2^20 - q modulo 2^33.
module sum_tree
  import whorl_pkg::*;
#(
    parameter int TERMS = 4,
    parameter int WIDTH = 33  // of a term
) (
    input  logic             clk,
    input  logic             en,
    input  logic [WIDTH-1:0] terms[TERMS],
    output logic [32:0]      sum
);
  if (TERMS > 1) begin : g_level
    localparam int PAIRS = TERMS / 2, LEFT = TERMS - PAIRS;
    logic [WIDTH:0] level[LEFT];
    always_ff @(posedge clk) if (en) begin
      for (int i = 0; i < PAIRS; i++) level[i] <= {1'b0, terms[2*i]} + {1'b0, terms[2*i+1]};
      if (LEFT > PAIRS) level[LEFT-1] <= {1'b0, terms[TERMS-1]};
    end
    sum_tree #(.TERMS(LEFT), .WIDTH(WIDTH + 1)) rest (.clk, .en, .terms(level), .sum);
  end else if (WIDTH == 33) begin : g_one
    always_ff @(posedge clk) if (en) sum <= terms[0];
  end else begin : g_reduction
    localparam int H = WIDTH - 33;
    logic [H-1:0] h, lowest;
    logic [32:0] l, multiple;  // q·2^20 - q, as a table: no adder
    logic next;
    assign {h, l} = terms[0];
    assign lowest = l[20+H-1:20];
    assign next = l[32:20+H] == '1
                  && (lowest > ~h || (lowest == ~h && (l[19:H] != '0 || l[H-1:0] > h)));
    always_comb begin
      multiple = '0;
      for (int i = 1; i < 2 << H; i++)
        if ({h, next} == (H + 1)'(i)) multiple = 33'(((i + 1) / 2) * 1048575);
    end
    always_ff @(posedge clk) if (en) sum <= l + multiple;
  end
endmodule
