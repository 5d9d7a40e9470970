// Signed gadget decomposition of one residue modulo p: the rule of ring::Gadget(p, LOG_BG, L).
// In: x below p. Out: its L digits as residues modulo p, the lowest first, DECOMPOSE_LATENCY = 2 enabled
// cycles later; one residue a cycle.
module decompose
  import whorl_pkg::*;
#(
    parameter int L = 2,
    parameter int LOG_BG = 10
) (
    input  logic               clk,
    input  logic               en,
    input  logic [32:0]        x,
    output logic [L-1:0][32:0] digits
);
  localparam int DROPPED = L * LOG_BG >= 33 ? 0 : 33 - L * LOG_BG;
  function automatic logic signed [34:0] offset_of();
    logic signed [34:0] o;
    o = DROPPED > 0 ? 35'sd1 <<< (DROPPED > 0 ? DROPPED - 1 : 0) : 35'sd0;
    for (int j = 0; j + 1 < L; j++) o = o + (35'sd1 <<< (DROPPED + j * LOG_BG + LOG_BG - 1));
    return o;
  endfunction
  localparam logic signed [34:0] OFFSET = offset_of(), LESS = OFFSET - 35'($signed({2'b00, P}));

  // x + OFFSET, or x - p + OFFSET where x is above (p - 1)/2.
  logic signed [34:0] y;
  always_ff @(posedge clk) if (en) y <= $signed({2'b00, x}) + (x > HALF ? LESS : OFFSET);

  for (genvar j = 0; j < L; j++) begin : g_digit
    logic signed [34:0] shifted, digit;
    assign shifted = y >>> (DROPPED + j * LOG_BG);
    if (j == L - 1) begin : g_top
      assign digit = shifted;
    end else begin : g_low
      assign digit = $signed({{(35 - LOG_BG) {1'b0}}, shifted[LOG_BG-1:0]})
                     - (35'sd1 <<< (LOG_BG - 1));
      logic unused;
      assign unused = ^shifted[34:LOG_BG];
    end
    always_ff @(posedge clk) if (en) digits[j] <= 33'(digit < 0 ? digit + $signed({2'b00, P}) : digit);
  end
endmodule
