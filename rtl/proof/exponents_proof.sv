// The formulas of README section 1, for all words: ã = floor((a·2N + 2^31)/2^32) mod 2N and
// b̃ = floor((2b + U + s)/2U) + offset mod 2N, s = Σ U/2 - ((a + U/2) mod U) if `centred`, U = 2^32/2N.
module exponents_formula #(
    parameter int LOG_N = 10
) (
    input logic clk,
    input logic rst_n,
    input logic as_exponents,
    input logic centred,
    input logic [LOG_N:0] offset,
    input logic in_valid,
    input logic in_first,
    input logic in_last,
    input logic [31:0] in_word
);
  localparam longint U = 64'd1 << (31 - LOG_N), MOST = 65536;
  logic started, out_valid, out_last, out_of_range;
  logic [LOG_N:0] out_exponent;
  exponents #(.LOG_N(LOG_N)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);

  longint s, so_far, word, of_a, of_b;  // s: of the coefficients before this word
  longint coefficients;                 // how many they are
  assign word = 64'(in_word);
  assign so_far = in_first ? 64'sd0 : s;
  // A quotient by a power of two, rounded down.
  assign of_a = (word * (64'sd2 <<< LOG_N) + 64'sd2147483648) >>> 32;
  assign of_b = (2 * word + U + (centred ? so_far : 64'sd0)) >>> (32 - LOG_N);
  logic moved, last, wrong;
  logic [LOG_N:0] expected;
  always_ff @(posedge clk) begin
    assume (coefficients < MOST || in_first || !in_valid);
    if (!rst_n) coefficients <= 0;
    else if (in_valid) begin
      coefficients <= (in_first ? 64'sd0 : coefficients) + 1;
      s <= so_far + U / 2 - ((word + U / 2) & (U - 1));
    end
    moved <= rst_n && in_valid;
    last <= in_last;
    wrong <= as_exponents && word >= (64'sd2 <<< LOG_N);
    expected <= (LOG_N + 1)'(as_exponents ? word + (in_last ? 64'(offset) : 64'd0) : in_last ? of_b + 64'(offset) : of_a);
    // The first word after a reset is a first word.
    if (in_valid && coefficients == 0) assume (in_first);
    if (started) begin
      assert (out_valid == moved);
      if (moved) assert (out_last == last && out_exponent == expected && out_of_range == wrong);
      // What makes the induction go through.
      assert (coefficients >= 0 && coefficients <= MOST);
      if (coefficients != 0) begin
        assert (64'($signed(dut.sum)) == s);
        assert (s <= coefficients <<< (30 - LOG_N) && s >= -(coefficients <<< (30 - LOG_N)));
      end
    end
  end
endmodule
