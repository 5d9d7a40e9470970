// Digits of every residue. D = 33 - L·w bits are dropped. Each digit but the top one lies in
// [-Bg/2, Bg/2), the top one in [-Bg/2, Bg/2], and Σ digit_j·2^(D + j·w) is the centred residue rounded to
// a multiple of 2^D, halves up: its error lies in (-2^(D-1), 2^(D-1)], and is 0 for D = 0.
module decompose_digits
  import whorl_pkg::*;
#(
    parameter int L = 2,
    parameter int LOG_BG = 10
) (
    input logic clk,
    input logic [32:0] x
);
  localparam int D = 33 - L * LOG_BG;
  logic [L-1:0][32:0] digits;
  decompose #(.L(L), .LOG_BG(LOG_BG)) dut (.clk, .en(1'b1), .x, .digits);
  logic [2:0] n = 0;
  logic [32:0] x1, x2;
  logic signed [39:0] centred, sum, digit, error;
  logic fits;
  always_comb begin
    centred = x2 > HALF ? 40'(x2) - 40'(P) : 40'(x2);
    sum = 0;
    fits = 1;
    digit = 0;
    for (int j = 0; j < L; j++) begin
      digit = digits[j] > HALF ? 40'(digits[j]) - 40'(P) : 40'(digits[j]);
      if (digits[j] >= P || digit < -(40'sd1 <<< (LOG_BG - 1))) fits = 0;
      if (digit > (40'sd1 <<< (LOG_BG - 1)) - (j == L - 1 ? 40'sd0 : 40'sd1)) fits = 0;
      sum = sum + (digit <<< (D + j * LOG_BG));
    end
    error = sum - centred;
  end
  always_ff @(posedge clk) begin
    n <= n == 7 ? n : n + 1'b1;
    assume (x < P);
    x1 <= x;
    x2 <= x1;
    if (n >= 2) begin
      assert (fits);
      if (D == 0) assert (error == 0);
      else begin
        assert (error > -(40'sd1 <<< (D > 0 ? D - 1 : 0)));
        assert (error <= (40'sd1 <<< (D > 0 ? D - 1 : 0)));
      end
    end
  end
endmodule
