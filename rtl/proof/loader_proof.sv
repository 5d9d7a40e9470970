// Loading: commands, the beats they ask for, exponents, and accumulators. The memory gives no more beats than were asked
// for; a run is started once after a reset; at most two banks are free. Exponents are those of `exponents`, which has a
// proof of its own. The descriptor stays.
module loader_rules
  import whorl_pkg::*;
#(
    parameter int LOG_N = 3,
    parameter int LOG_B = 0,
    parameter int M = 2,
    parameter int PES = 2,
    parameter int K = 2,
    parameter int LOG_STEPS = 2,
    parameter int DATA_BITS = 64,
    localparam int N = 1 << LOG_N,
    localparam int B = 1 << LOG_B,
    localparam int KW = K > 1 ? $clog2(K) : 1,
    localparam int AW = $clog2(K << (LOG_N - 1 - LOG_B)),
    localparam int EW = 1 + KW + LOG_STEPS
) (
    input logic clk,
    input logic rst_n,
    input logic start,
    input logic switch_only,
    input logic as_exponents,
    input logic centred,
    input logic [31:0] n,
    input logic [31:0] count,
    input logic [31:0] luts,
    input logic [LOG_N:0] offset,
    input logic [63:0] in_address,
    input logic [63:0] lut_address,
    input logic bank_free,
    input logic command_ready,
    input logic beat_valid,
    input logic [DATA_BITS-1:0] beat_data,
    input logic word_ready
);
  localparam int WORDS = DATA_BITS / 32, BYTES = DATA_BITS / 8, MOST = M << LOG_STEPS;
  logic started, batch_loaded, command_valid, beat_ready, load_bank, word_valid;
  logic [4:0] error;
  logic [63:0] command_address;
  logic [39:0] command_beats, record_beats;
  logic [PES-1:0] exponents_write;
  logic [EW-1:0] exponents_address;
  logic [M-1:0][LOG_N:0] exponents_data;
  logic [PES-1:0][B-1:0] load_enable;
  logic [AW-1:0] load_address;
  logic [1:0][32:0] load_pair;
  logic [31:0] word;
  // As control computes it.
  int words;
  assign words = switch_only ? N + 1 : int'(n) + 2;
  assign record_beats = 40'((words + WORDS - 1) / WORDS);
  loader #(
      .LOG_N(LOG_N), .LOG_B(LOG_B), .M(M), .PES(PES), .K(K), .LOG_STEPS(LOG_STEPS), .DATA_BITS(DATA_BITS)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);
  stays #(.WIDTH(104)) command_stays (
      .clk, .rst_n, .valid(command_valid), .ready(command_ready), .data({command_address, command_beats}));
  stays #(.WIDTH(32)) word_stays (.clk, .rst_n, .valid(word_valid), .ready(word_ready), .data(word));

  localparam logic [2:0] IDLE = 0, BANK = 1, ASK_RECORD = 2, RECORD = 3, ASK_LUT = 4, LUT = 5, SPREAD = 6, NEXT = 7;
  logic [2:0] state;
  assign state = 3'(dut.state);
  logic running, record_asked;
  logic [31:0] left;   // ciphertexts that are not loaded
  int in_batch;        // loaded ones of this batch
  logic bank;
  int free_banks;      // those that are neither loaded nor being loaded; held: loaded and not drained
  int held;
  int owed;            // beats that were asked for and not taken
  logic [63:0] next_record;
  logic last_of_batch;
  assign last_of_batch = left == 1 || in_batch == PES * K - 1;
  // Exponents of the record, as they come.
  int exponents_made;
  logic [MOST:0][LOG_N:0] made;
  // The test vector, and its rotation.
  logic [N-1:0][32:0] vector;
  int vector_at, index0, index1, pairs, the_pe, the_place;
  logic [N-1:0] vector_known;
  assign index0 = (pairs + int'(dut.rotation)) % (2 * N);
  assign index1 = (pairs + N / 2 + int'(dut.rotation)) % (2 * N);
  assign the_pe = in_batch % PES;
  assign the_place = in_batch / PES;
  function automatic logic [32:0] signed_by(logic [32:0] value, logic negative);
    return !negative ? value : value == 0 ? 33'd0 : P - value;
  endfunction
  logic spread_now;
  assign spread_now = load_enable != '0;
  logic [191:0] shape, shape_before;
  assign shape = {switch_only, as_exponents, centred, n, offset, in_address, lut_address};
  always_ff @(posedge clk) begin
    shape_before <= shape;
    assume (n != 0 && n <= MOST && (count != 0 || !start));
    if (started) assume (shape == shape_before);
    if (started && running) assume (!start);
    if (started && beat_valid) assume (owed > 0);
    if (started && bank_free) assume (held > 0);
    if (!rst_n) begin
      running <= 0;
      left <= '0;
      in_batch <= 0;
      bank <= 0;
      held <= 0;
      owed <= 0;
      exponents_made <= 0;
      vector_at <= 0;
      pairs <= 0;
    end else begin
      if (start) begin
        running <= 1;
        left <= count;
        next_record <= in_address;
      end
      held <= held + (batch_loaded ? 1 : 0) - (bank_free ? 1 : 0);
      owed <= owed + (command_valid && command_ready ? int'(command_beats) : 0) - (beat_valid && beat_ready ? 1 : 0);
      if (command_valid && command_ready) begin
        if (state == ASK_RECORD) begin
          next_record <= next_record + 64'(record_beats) * BYTES;
          exponents_made <= 0;
        end
        vector_at <= 0;
      end else if (dut.exponent_valid) begin
        made[exponents_made] <= dut.exponent;
        exponents_made <= exponents_made + 1;
      end
      if (dut.longs_take && dut.longs_valid) begin
        vector[vector_at] <= dut.long_word[32:0];
        vector_at <= vector_at + 1;
      end
      if (state == NEXT) begin
        left <= left - 1;
        in_batch <= last_of_batch ? 0 : in_batch + 1;
        bank <= bank ^ last_of_batch;
        pairs <= 0;
      end else if (spread_now) pairs <= pairs + 1;
    end
    if (started) begin
      // A command when all beats of the last one are taken: a record, or a test vector.
      if (command_valid) begin
        assert (owed == 0 && command_beats != 0);
        assert (command_address == (state == ASK_RECORD ? next_record : lut_address + 64'(dut.lut) * (8 * N)));
        assert (command_beats == (state == ASK_RECORD ? record_beats : 40'(8 * N / BYTES)));
      end
      // A batch is loaded only into a free bank, and is complete.
      if (state != IDLE && state != BANK && !switch_only) assert (held < 2);
      assert (batch_loaded == (state == NEXT && last_of_batch && !switch_only));
      if (state == NEXT && !switch_only) assert (pairs == N / 2 && exponents_made == int'(n) + 1);
      // Exponents: groups of M, the last with zeros; in the place of this ciphertext.
      if (exponents_write != 0) begin
        assert (exponents_write == PES'(1) << the_pe);
        assert (exponents_address == {bank, KW'(the_place), LOG_STEPS'((exponents_made - (dut.exponent_last ? 1 : 0)) / M)});
        for (int i = 0; i < M; i++)
          if (exponents_made / M * M + i < int'(n))
            assert (exponents_data[i] == (exponents_made / M * M + i == exponents_made ? dut.exponent : made[exponents_made/M*M+i]));
          else assert (exponents_data[i] == 0);
      end
      // Accumulators: coefficient i of t·X^-b̃ is that of t at i + b̃, negative past N.
      if (spread_now) begin
        for (int e = 0; e < PES; e++) for (int l = 0; l < B; l++) assert (load_enable[e][l] == (e == the_pe && l == pairs % B));
        assert (load_bank == bank && load_address == AW'(the_place * (N / 2 / B) + pairs / B) && pairs < N / 2);
        assert (load_pair[0] == signed_by(vector[index0%N], index0 >= N));
        assert (load_pair[1] == signed_by(vector[index1%N], index1 >= N));
      end
      // What makes the induction go through.
      assert (held >= 0 && held <= 2 && owed >= 0 && in_batch >= 0 && in_batch < PES * K);
      assert (int'(dut.free_banks) == 2 - held);
      if (state == IDLE) assert (in_batch == 0 || !running);
      else assert (running && dut.left == left && left != 0 && dut.record == next_record);
      if (!running) assert (state == IDLE && in_batch == 0 && pairs == 0 && owed == 0);
      assert (dut.bank == bank && int'(dut.pe) == the_pe && int'(dut.place) == the_place);
      if (state == BANK) assert (in_batch == 0);
      if (state == ASK_LUT) assert (dut.at == 0);
      if (state == RECORD) begin
        assert (int'(dut.at) >= 0 && int'(dut.at) < words && owed <= int'(record_beats));
        assert (int'(dut.at) + int'(dut.words.left) + owed * WORDS == int'(record_beats) * WORDS);
      end else assert (dut.words.left == 0);
      if (state == LUT) begin
        assert (int'(dut.at) == vector_at && vector_at >= 0 && vector_at < N && owed <= N);
        assert (vector_at + int'(dut.longs.left) + owed * (DATA_BITS / 64) == N);
      end else assert (dut.longs.left == 0);
      if (state != RECORD && state != LUT) assert (owed == 0);
      if (switch_only) assert (state != ASK_LUT && state != LUT && state != SPREAD && !dut.exponent_valid);
      // exponents
      if (state == RECORD && !switch_only) begin
        assert (exponents_made + (dut.exponent_valid ? 1 : 0) == (int'(dut.at) > int'(n) + 1 ? int'(n) + 1 : int'(dut.at)));
        if (dut.exponent_valid) assert (dut.exponent_last == (int'(dut.at) == int'(n) + 1));
      end
      if (state == ASK_LUT || state == LUT || state == SPREAD || state == NEXT)
        assert (switch_only || exponents_made == int'(n) + 1);
      if (state != RECORD) assert (!dut.exponent_valid);
      if (state == RECORD && exponents_made <= int'(n)) begin
        assert (dut.step == LOG_STEPS'(exponents_made / M) && int'(dut.in_group) == exponents_made % M);
        for (int i = 0; i < M; i++) if (i < exponents_made % M) assert (dut.group[i] == made[exponents_made/M*M+i]);
      end
      // the vector
      for (int i = 0; i < N; i++)
        if (dut.lut_held && state != LUT || i < vector_at && state == LUT)
          assert ((i < N / 2 ? dut.low_half[i%(N/2)] : dut.high_half[i%(N/2)]) == vector[i]);
      if (state == SPREAD) begin
        assert (dut.lut_held && int'(dut.at) <= N / 2 && dut.spread_late == (dut.at != 0));
        assert (pairs + (spread_now ? 1 : 0) == int'(dut.at));
        if (spread_now) assert (int'(dut.j_late) == pairs);
      end else if (state != NEXT) assert (pairs == 0);
      if (spread_now) begin
        assert (state == SPREAD && dut.spread_late);
        assert (dut.low == vector[index0%(N/2)] && dut.high == vector[index0%(N/2)+N/2]);
        assert (dut.swap_late == (index0 / (N / 2) % 2 != 0) && dut.negative_late == (index0 >= N));
      end
      if (dut.spread_late) assert (spread_now);
      if (state == NEXT) assert (!dut.spread_late);
      if (state == NEXT && !switch_only) assert (dut.lut_held);
    end
  end
endmodule
