// Rounds the coefficients of an LWE ciphertext from modulus 2^32 to 2N, or takes exponents as they are.
// In: first, with the ciphertext's first word; a_1 … a_n, then b, `last`. Out, one cycle later, for a: the exponent
// floor((a·2N + 2^31)/2^32) mod 2N; for b: floor((2b + U + s)/2U) + offset mod 2N, where U = 2^32/2N and s, if
// `centred`, is the sum of U/2 - ((a + U/2) mod U) over all a, else 0. With `as_exponents` the words themselves
// (b: + offset), and out_of_range where one is not below 2N. Handshake: valid only; a word may come in any cycle.
module exponents #(
    parameter int LOG_N = 10
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             as_exponents,
    input  logic             centred,
    input  logic [LOG_N:0]   offset,
    input  logic             in_valid,
    input  logic             in_first,
    input  logic             in_last,
    input  logic [31:0]      in_word,
    output logic             out_valid,
    output logic             out_last,
    output logic [LOG_N:0]   out_exponent,
    output logic             out_of_range
);
  localparam int LOG_U = 31 - LOG_N;
  localparam int SW = LOG_U + 17;  // of s: up to 2^16 coefficients
  logic signed [SW-1:0] sum, error, correction;
  logic [31:0] shifted;
  logic signed [SW+33:0] total;
  assign shifted = in_word + (32'd1 << (LOG_U - 1));
  assign error = $signed(SW'(32'd1 << (LOG_U - 1))) - $signed(SW'(shifted[LOG_U-1:0]));
  assign correction = in_first || !centred ? $signed(SW'(0)) : sum;
  assign total = $signed({{(SW + 1) {1'b0}}, in_word, 1'b0}) + $signed((SW + 34)'(64'd1 << LOG_U))
                 + (SW + 34)'(correction);
  always_ff @(posedge clk) begin
    if (in_valid) sum <= (in_first ? '0 : sum) + error;
    out_last <= in_last;
    if (as_exponents) out_exponent <= in_word[LOG_N:0] + (in_last ? offset : '0);
    else if (in_last) out_exponent <= total[LOG_U+1+:LOG_N+1] + offset;
    else out_exponent <= shifted[31-:LOG_N+1];
    out_of_range <= as_exponents && in_word[31:LOG_N+1] != '0;
  end
  always_ff @(posedge clk)
    if (!rst_n) out_valid <= 1'b0;
    else out_valid <= in_valid;
  logic unused;
  assign unused = ^{total[SW+33:LOG_U+LOG_N+2], total[LOG_U:0]};
endmodule
