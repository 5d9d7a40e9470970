// The samples of finished batches, from the accumulators' rows to the queue, whose order stream_fifo's proof shows.
// At most two batches wait; a row comes two cycles after its address.
module drain_takes
  import whorl_pkg::*;
#(
    parameter int LOG_N = 3,
    parameter int LOG_B = 0,
    parameter int PES = 2,
    parameter int K = 2,
    localparam int N = 1 << LOG_N,
    localparam int B = 1 << LOG_B,
    localparam int CW = $clog2(PES * K + 1),
    localparam int AW = $clog2(K << (LOG_N - 1 - LOG_B))
) (
    input logic clk,
    input logic rst_n,
    input logic batch_done,
    input logic [CW-1:0] batch_done_count,
    input logic [32:0] constant,
    input logic [PES-1:0][1:0][2*B-1:0][32:0] drain_rows,
    input logic out_ready
);
  logic started, bank_free, drain_bank, out_valid, out_last;
  logic [AW-1:0] drain_address;
  logic [32:0] out_word;
  drain #(.LOG_N(LOG_N), .LOG_B(LOG_B), .PES(PES), .K(K)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);
  stays out_stays (.clk, .rst_n, .valid(out_valid), .ready(out_ready), .data(1'b0));

  // The word that is asked for next: of a batch, a ciphertext, and its place in the sample.
  int waiting, ciphertext, at, pe, place, i;
  logic bank, put;
  logic [CW-1:0] counts[2];
  logic ends_sample, ends_batch;
  assign ends_sample = at == N;
  assign ends_batch = ends_sample && ciphertext + 1 == int'(counts[bank]);
  assign pe = ciphertext % PES;
  assign place = ciphertext / PES;
  assign i = at == 0 || at == N ? 0 : N - at;  // of a; the last word is b_0
  // Those that are under way.
  int pe1, pe2, lane1, lane2;
  logic b1, b2, negative1, negative2;
  logic [2:0] asked;
  logic [32:0] chosen, expected;
  logic expected_last;
  assign chosen = drain_rows[pe2][b2][lane2];
  always_ff @(posedge clk) begin
    if (started && batch_done) assume (waiting < 2 && batch_done_count != 0 && batch_done_count <= PES * K);
    for (int e = 0; e < PES; e++)
      for (int c = 0; c < 2; c++) for (int l = 0; l < 2 * B; l++) assume (drain_rows[e][c][l] < P);
    if (!rst_n) begin
      waiting <= 0;
      ciphertext <= 0;
      at <= 0;
      bank <= 0;
      put <= 0;
      asked <= '0;
    end else begin
      waiting <= waiting + (batch_done ? 1 : 0) - (dut.issue && ends_batch ? 1 : 0);
      if (batch_done) put <= !put;
      asked <= {asked[1:0], dut.issue};
      if (dut.issue) begin
        at <= ends_sample ? 0 : at + 1;
        if (ends_sample) ciphertext <= ends_batch ? 0 : ciphertext + 1;
        if (ends_batch) bank <= !bank;
      end
    end
    if (batch_done) counts[put] <= batch_done_count;
    pe1 <= pe;
    pe2 <= pe1;
    lane1 <= (i >= N / 2 ? B : 0) + i % B;
    lane2 <= lane1;
    b1 <= ends_sample;
    b2 <= b1;
    negative1 <= at != 0 && at != N;
    negative2 <= negative1;
    expected <= negative2 ? neg_mod(chosen) : b2 ? add_mod(chosen, constant) : chosen;
    expected_last <= b2;
    if (started) begin
      // Row t holds coefficients B·t + lane, and N/2 more.
      if (dut.issue) assert (drain_bank == bank && drain_address == AW'(place * (N / 2 / B) + i % (N / 2) / B) && waiting != 0);
      assert (bank_free == (dut.issue && ends_batch));
      assert (dut.valid == asked);
      if (asked[2]) assert (dut.in_ready && dut.word == expected && dut.word_last == expected_last);
      // It waits only for batches and for the queue.
      if (waiting != 0 && dut.queue.count <= 12) assert (dut.issue);
      // What makes the induction go through.
      assert (waiting >= 0 && waiting <= 2 && int'(dut.waiting) == waiting && dut.bank == bank && dut.put == put);
      assert (at >= 0 && at <= N && int'(dut.at) == at && put == bank ^ waiting[0]);
      assert (int'(dut.done) == ciphertext && int'(dut.pe) == pe && int'(dut.place) == place && ciphertext >= 0);
      if (waiting == 0) assert (at == 0 && ciphertext == 0);
      else assert (ciphertext < int'(counts[bank]) && counts[bank] <= PES * K && counts[bank] == dut.counts[bank]);
      if (waiting == 2) assert (counts[!bank] != 0 && counts[!bank] <= PES * K && counts[!bank] == dut.counts[!bank]);
      assert (int'(dut.queue.count) + $countones(asked) <= 16);
      assert (dut.queue.ready_head == (dut.queue.count != 0));
      if (asked[0]) assert (int'(dut.pick1.pe) == pe1 && dut.pick1.column == b1 && dut.pick1.negative == negative1
                            && dut.pick1.last == b1 && int'(dut.pick1.lane) == lane1 && pe1 < PES && pe1 >= 0);
      if (asked[1]) assert (int'(dut.pick2.pe) == pe2 && dut.pick2.column == b2 && dut.pick2.negative == negative2
                            && dut.pick2.last == b2 && int'(dut.pick2.lane) == lane2 && pe2 < PES && pe2 >= 0);
    end
  end
endmodule
