// X^(a_T) - 1 in evaluation form, for all exponents: its value at location l is psi^(a_T·(2·brv(l) + 1)) - 1 modulo p. A row
// that is on its way takes its number and its token along, which is how the rows of all tokens, with any gaps, are told apart.
module monomials_values
  import whorl_pkg::*;
#(
    parameter int LOG_N = 6,
    parameter int LOG_B = 0,
    parameter int M = 1
) (
    input logic clk,
    input logic rst_n,
    input logic in_valid,
    input logic [M-1:0][LOG_N:0] exponents,
    input logic out_ready
);
  localparam int N = 1 << LOG_N, B = 1 << LOG_B, SETS = (1 << M) - 1, LOG_T = LOG_N - 1 - LOG_B;
  logic started, in_ready, out_valid;
  logic [SETS-1:0][2*B-1:0][32:0] factors;
  monomials #(.LOG_N(LOG_N), .LOG_B(LOG_B), .M(M)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);
  stays #(.WIDTH(SETS * 2 * B * 33)) out_stays (.clk, .rst_n, .valid(out_valid), .ready(out_ready), .data(factors));

  // psi^0 … psi^(2N - 1).
  typedef logic [2*N-1:0][32:0] powers_t;
  function automatic powers_t powers();
    powers_t all;
    logic [32:0] power;
    power = 33'd1;
    for (int i = 0; i < 2 * N; i++) begin
      all[i] = power;
      power = mul_table(power, psi(LOG_N));
    end
    return all;
  endfunction
  localparam powers_t POWERS = powers();

  // Stages 1 … 4 of the pipeline.
  logic [4:1] there;
  logic [4:1][LOG_T-1:0] row;
  logic [4:1][M-1:0][LOG_N:0] token;
  logic enters, moves;
  logic [LOG_T-1:0] next_row;
  assign moves = out_ready || !there[4];
  assign enters = in_valid || next_row != 0;
  always_ff @(posedge clk)
    if (!rst_n) begin
      there <= '0;
      next_row <= '0;
    end else if (moves) begin
      there <= {there[3:1], enters};
      if (enters) next_row <= next_row + 1'b1;
    end
  always_ff @(posedge clk)
    if (moves) begin
      row <= {row[3:1], next_row};
      token <= {token[3:1], next_row == 0 ? exponents : token[1]};
    end

  function automatic logic [LOG_N:0] sum_of(logic [M-1:0][LOG_N:0] a, int set);
    logic [LOG_N:0] sum;
    sum = '0;
    for (int i = 0; i < M; i++) if (((set >> i) & 1) != 0) sum = sum + a[i];
    return sum;
  endfunction
  function automatic logic [LOG_N:0] times_location(logic [LOG_N:0] a, logic [LOG_N-1:0] l);
    logic [LOG_N:0] reversed;
    for (int i = 0; i < LOG_N; i++) reversed[LOG_N-1-i] = l[i];
    reversed[LOG_N] = 1'b0;
    return a * (2 * reversed + 1'b1);
  endfunction
  always_ff @(posedge clk)
    if (started) begin
      assert (out_valid == there[4]);
      assert (in_ready == (moves && next_row == 0));
      // What makes the induction go through.
      assert (dut.valid == {there[4], there[3], there[2], there[1]} && dut.row == next_row && dut.running == (next_row != 0));
      if (next_row != 0) assert (there[1] && row[1] == next_row - 1'b1);
      if (there[1] && row[1] != '1) assert (next_row == row[1] + 1'b1);
    end
  for (genvar s = 0; s < SETS; s++) begin : g_set
    logic [LOG_N:0] a;
    logic [4:2] odd;
    assign a = sum_of(token[1], s + 1);
    always_ff @(posedge clk) begin
      if (moves) odd <= {odd[3:2], a[0]};
      if (started && there[1]) begin
        assert (dut.g_set[s].a == a);
        assert (dut.g_set[s].e1 == times_location(a, LOG_N'(row[1]) << (LOG_B + 1)));
      end
      if (started && there[2]) assert (dut.g_set[s].odd2 == odd[2]);
      if (started && there[3]) assert (dut.g_set[s].odd3 == odd[3]);
    end
    for (genvar u = 0; u < B; u++) begin : g_pair
      logic [4:1][LOG_N:0] e;  // of location 2u of the row; that of 2u + 1 is a·N more
      logic [4:2][LOG_N:0] past;
      logic [LOG_N-1:0] location;
      assign location = LOG_N'(row[1]) << (LOG_B + 1) | LOG_N'(2 * u);
      assign e = {past, times_location(a, location)};
      always_ff @(posedge clk) begin
        if (moves) past <= e[3:1];
        if (started) begin
          if (there[1]) assert (times_location(a, location + 1'b1) == e[1] + {a[0], LOG_N'(0)});
          if (there[2])
            assert (dut.g_set[s].g_pair[u].power2 == POWERS[e[2][LOG_N-1:0]] && dut.g_set[s].g_pair[u].negative2 == e[2][LOG_N]);
          if (there[3]) assert (dut.g_set[s].g_pair[u].power3 == POWERS[e[3]]);
          if (there[4]) begin
            assert (factors[s][2*u] == POWERS[e[4]] - 33'd1);
            assert (factors[s][2*u+1] == POWERS[e[4]+{odd[4], LOG_N'(0)}] - 33'd1);
          end
        end
      end
    end
  end
endmodule
