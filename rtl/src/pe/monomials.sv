// The factors X^(a_T) - 1 of a bundle, in evaluation form.
// In: the exponents a_0 … a_(M-1) of a group, below 2N; one token a polynomial.
// Out: N/2B rows; row t has, for each non-empty set T = 1 … 2^M - 1, X^(a_T) - 1 at locations
// 2B·t + lane, a_T the sum of those a_i of which bit i is set in T. The first row comes
// MONOMIALS_LATENCY = 4 enabled cycles after the token; the next token is taken N/2B cycles after it.
// The exponent at location l is a·(2·brv(l) + 1). From row t to t + 1 it grows by
// a·(3·2^(w-z) - 2^(w+1)), z the number of ones at the end of t, w the bits of t.
module monomials
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int LOG_B = 0,
    parameter int M = 2
) (
    input  logic                                          clk,
    input  logic                                          rst_n,
    input  logic                                          in_valid,
    output logic                                          in_ready,
    input  logic [M-1:0][LOG_N:0]                         exponents,
    output logic                                          out_valid,
    input  logic                                          out_ready,
    output logic [(1 << M)-2:0][(2 << LOG_B)-1:0][32:0]   factors
);
  localparam int B = 1 << LOG_B, SETS = (1 << M) - 1, LOG_T = LOG_N - 1 - LOG_B;
  localparam int N = 1 << LOG_N, EW = LOG_N + 1;

  logic en, running;
  logic [LOG_T-1:0] row;
  logic [3:0] valid;  // of the pipeline's four registers
  assign out_valid = valid[3];
  assign en = out_ready || !out_valid;
  assign in_ready = en && !running;

  always_ff @(posedge clk)
    if (!rst_n) begin
      running <= 1'b0;
      row <= '0;
      valid <= '0;
    end else if (en) begin
      valid <= {valid[2:0], in_valid || running};
      if (in_valid || running) begin
        row <= row + 1'b1;
        running <= row != '1;
      end
    end

  // The number of ones at the end of a row's number.
  function automatic int ones(logic [LOG_T-1:0] t);
    int z;
    z = LOG_T;
    for (int i = LOG_T - 1; i >= 0; i--) if (!t[i]) z = i;
    return z;
  endfunction
  logic [LOG_T-1:0] before_row;
  assign before_row = row - 1'b1;

  for (genvar s = 0; s < SETS; s++) begin : g_set
    // First register: the exponent at the row's first location, and a_T.
    logic [EW-1:0] total, a, e1;
    always_comb begin
      total = '0;
      for (int i = 0; i < M; i++) if ((((s + 1) >> i) & 1) != 0) total = total + exponents[i];
    end
    always_ff @(posedge clk) if (en) begin
      if (!running) begin
        a <= total;
        e1 <= total;
      end else begin
        e1 <= e1 + (EW'(a + (a << 1)) << (LOG_T - ones(before_row))) - EW'(a << (LOG_T + 1));
      end
    end
    logic odd2, odd3;
    always_ff @(posedge clk) if (en) begin
      odd2 <= a[0];
      odd3 <= odd2;
    end
    for (genvar u = 0; u < B; u++) begin : g_pair
      // Second: psi^e read for e below N; third: with its sign, since psi^N = -1. Location 2u + 1 of the
      // pair has (-1)^a times that of 2u. Fourth: minus 1.
      localparam int PLACE = 2 * brv(2 * u, LOG_N);
      logic [EW-1:0] e;
      logic [32:0] rom[N];
      logic [32:0] power2, power3;
      logic negative2;
      initial begin
        logic [32:0] power, root;
        power = 33'd1;
        root = psi(LOG_N);
        for (int i = 0; i < N; i++) begin
          rom[i] = power;
          power = mul_table(power, root);
        end
      end
      // By shifts and sums: a bit or two of a count, and no DSP is spent.
      always_comb begin
        e = e1;
        for (int i = 0; i < EW; i++) if (((PLACE >> i) & 1) != 0) e = e + (a << i);
      end
      always_ff @(posedge clk) if (en) begin
        power2 <= rom[e[LOG_N-1:0]];
        negative2 <= e[LOG_N];
        power3 <= negative2 ? P - power2 : power2;
        factors[s][2*u] <= power3 - 33'd1;
        factors[s][2*u+1] <= (odd3 ? P - power3 : power3) - 33'd1;
      end
    end
  end
endmodule
