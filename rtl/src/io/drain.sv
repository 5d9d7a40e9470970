// Drains the accumulators of finished batches: the LWE sample of coefficient 0 of each.
// In: batch_done for a cycle, with the number of its ciphertexts; rows of the PEs' accumulators 2 cycles after their
// address. Out: for each ciphertext N + 1 words modulo p, a_0, -a_(N-1), …, -a_1, b_0 + constant, `last` with the
// last; one a cycle at most. bank_free for a cycle when a bank is drained.
module drain
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int LOG_B = 0,
    parameter int PES = 1,
    parameter int K = 3,
    localparam int N = 1 << LOG_N,
    localparam int B = 1 << LOG_B,
    localparam int LOG_ROWS = LOG_N - 1 - LOG_B,
    localparam int KW = K > 1 ? $clog2(K) : 1,
    localparam int CW = $clog2(PES * K + 1),
    localparam int AW = $clog2(K << LOG_ROWS)
) (
    input  logic                                clk,
    input  logic                                rst_n,
    input  logic                                batch_done,
    input  logic [CW-1:0]                       batch_done_count,
    input  logic [32:0]                         constant,
    output logic                                bank_free,
    output logic                                drain_bank,
    output logic [AW-1:0]                       drain_address,
    input  logic [PES-1:0][1:0][2*B-1:0][32:0]  drain_rows,
    output logic                                out_valid,
    input  logic                                out_ready,
    output logic [32:0]                         out_word,
    output logic                                out_last
);
  localparam int PW = PES > 1 ? $clog2(PES) : 1;
  localparam int DEPTH = 16;

  // Batches that wait.
  logic [1:0] waiting;
  logic [1:0][CW-1:0] counts;
  logic put, bank;
  logic [CW-1:0] done;  // ciphertexts of this batch
  logic [PW-1:0] pe;
  logic [KW-1:0] place;
  logic [LOG_N:0] at;  // 0 … N

  logic issue, last_word, last_ciphertext;
  logic [$clog2(DEPTH):0] space;
  logic [2:0] valid;
  // Room for the words that are under way, too.
  assign issue = waiting != '0 && space > ($clog2(DEPTH) + 1)'(3);
  assign last_word = at == (LOG_N + 1)'(N);
  assign last_ciphertext = done + 1'b1 == counts[bank];
  assign bank_free = issue && last_word && last_ciphertext;

  logic [LOG_N-1:0] coefficient;
  assign coefficient = at[LOG_N] ? '0 : -at[LOG_N-1:0];
  assign drain_bank = bank;
  assign drain_address = AW'({place, coefficient[LOG_N-2:LOG_B]});

  always_ff @(posedge clk)
    if (!rst_n) begin
      waiting <= '0;
      put <= 1'b0;
      bank <= 1'b0;
      done <= '0;
      pe <= '0;
      place <= '0;
      at <= '0;
      valid <= '0;
    end else begin
      waiting <= waiting + 2'(batch_done) - 2'(bank_free);
      if (batch_done) put <= !put;
      valid <= {valid[1:0], issue};
      if (issue) begin
        at <= last_word ? '0 : at + 1'b1;
        if (last_word) begin
          done <= last_ciphertext ? '0 : done + 1'b1;
          pe <= last_ciphertext || int'(pe) == PES - 1 ? '0 : pe + 1'b1;
          if (last_ciphertext) place <= '0;
          else if (int'(pe) == PES - 1) place <= place + 1'b1;
          if (last_ciphertext) bank <= !bank;
        end
      end
    end
  always_ff @(posedge clk) if (batch_done) counts[put] <= batch_done_count;

  // The word of a row that was asked for two cycles ago.
  typedef struct packed {
    logic [PW-1:0] pe;
    logic column, negative, last;
    logic [LOG_B:0] lane;
  } pick_t;
  pick_t pick0, pick1, pick2;
  logic [LOG_B:0] lane;
  if (LOG_B == 0) begin : g_lane
    assign lane = coefficient[LOG_N-1];
  end else begin : g_lanes
    assign lane = {coefficient[LOG_N-1], coefficient[LOG_B-1:0]};
  end
  assign pick0 = '{
          pe: pe, column: last_word, negative: !last_word && at != '0, last: last_word, lane: lane};
  logic [32:0] chosen, word;
  logic word_last;
  assign chosen = drain_rows[pick2.pe][pick2.column][pick2.lane];
  always_ff @(posedge clk) begin
    pick1 <= pick0;
    pick2 <= pick1;
    word <= pick2.negative ? neg_mod(chosen) : add_mod(chosen, pick2.last ? constant : 33'd0);
    word_last <= pick2.last;
  end

  logic in_ready;
  stream_fifo #(.WIDTH(34), .DEPTH(DEPTH)) queue (
      .clk, .rst_n, .in_valid(valid[2]), .in_ready, .in_data({word_last, word}), .out_valid,
      .out_ready, .out_data({out_last, out_word}), .space);
  always_ff @(posedge clk)
    if (rst_n) assert (!valid[2] || in_ready) else $error("the queue has no room");
endmodule
