// The streams of the key-switching unit, its memories' places, and that no sum is read before it is written. One run
// after a reset; n and the shape stay. That products and sums are right is what benches show.
module key_switch_streams #(
    parameter int LOG_N = 2,
    parameter int MAX_N_LWE = 5,
    parameter int L_KS = 2,
    parameter int LANES = 4,
    parameter int KSK_BITS = 64,
    parameter int OUT_BITS = 64,
    parameter int CAPACITY = 2,
    parameter int KEY_ROWS = 3
) (
    input logic clk,
    input logic rst_n,
    input logic start,
    input logic [31:0] count,
    input logic [31:0] n,
    input logic in_valid,
    input logic [31:0] in_word,
    input logic [63:0] key_address,
    input logic [39:0] key_beats,
    input logic command_ready,
    input logic beat_valid,
    input logic [KSK_BITS-1:0] beat_data,
    input logic out_ready
);
  localparam int N = 1 << LOG_N, KEY_WORDS = KSK_BITS / 32, OUT_WORDS = OUT_BITS / 32, ROWS = N * L_KS;
  // Rows at once, of WIDTH lanes; and on the chip: the whole key, if there is room.
  localparam int AT_ONCE = whorl_pkg::ks_rows_at_once(LANES, MAX_N_LWE, L_KS, KEY_WORDS, OUT_WORDS), WIDTH = LANES / AT_ONCE;
  localparam int ROOM = (KEY_ROWS + AT_ONCE - 1) / AT_ONCE * AT_ONCE, GROUPS = (MAX_N_LWE + LANES) / LANES;
  localparam bit WHOLE = ROOM >= ROWS;
  localparam int HELD = WHOLE ? ROWS : ROOM;
  logic started, in_ready, command_valid, beat_ready, out_valid, busy;
  logic [63:0] command_address;
  logic [39:0] command_beats;
  logic [OUT_BITS-1:0] out_data;
  key_switch #(
      .LOG_N(LOG_N), .MAX_N_LWE(MAX_N_LWE), .L_KS(L_KS), .LOG_BKS(2), .LANES(LANES), .KSK_BITS(KSK_BITS),
      .OUT_BITS(OUT_BITS), .CAPACITY(CAPACITY), .KEY_ROWS(KEY_ROWS)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);
  stays #(.WIDTH(104)) command_stays (
      .clk, .rst_n, .valid(command_valid), .ready(command_ready), .data({command_address, command_beats}));
  stays #(.WIDTH(OUT_BITS)) out_stays (.clk, .rst_n, .valid(out_valid), .ready(out_ready), .data(out_data));
  logic running;
  logic [31:0] n_held;
  logic [103:0] key_held;
  int words, groups, row_beats, out_beats;  // of a row; its groups; beats of the key and of a result
  assign words = int'(n) + 1;
  assign groups = (words + WIDTH - 1) / WIDTH;
  assign row_beats = (words + KEY_WORDS - 1) / KEY_WORDS;
  assign out_beats = (words + OUT_WORDS - 1) / OUT_WORDS;
  localparam logic [1:0] IN_ROWS = 0, FINISH = 1, FETCH = 2, SEND = 3;
  // What has been taken and given.
  logic [31:0] in_left, key_left;  // ciphertexts whose last word, and whose key, is not taken
  int in_ciphertext, in_at;        // of the batch that comes in
  logic in_half, half;
  logic [1:0] full;                // halves that hold a batch
  int held[2];
  int fill_beat, fill_at, use_at, ahead;  // beats of the row; rows in the ring: that is filled, that is used, that are there
  logic all_filled;                       // of the whole key
  int row, cycles, out_ciphertext, out_beat;
  logic [1:0] state;
  assign state = 2'(dut.state);
  logic in_ends, in_ends_batch, row_over, out_ends;
  assign in_ends = in_at == N;
  assign in_ends_batch = in_ends && (in_left == 1 || in_ciphertext == CAPACITY - 1);
  assign out_ends = out_beat == out_beats - 1;
  // A row takes as many cycles as it has products, but at least 4.
  logic works;
  int row_cycles;
  assign works = state == IN_ROWS && full[half] && ahead >= AT_ONCE;
  assign row_cycles = held[half] * groups < 4 ? 4 : held[half] * groups;
  assign row_over = works && cycles == row_cycles - 1;
  always_ff @(posedge clk) begin
    n_held <= n;
    key_held <= {key_address, key_beats};
    if (started && running) assume (!start && n == n_held && {key_address, key_beats} == key_held);
    // The whole key is asked for once.
    if (started && beat_valid) assume (running && !(WHOLE && all_filled));
    assume (n != 0 && n <= MAX_N_LWE && (count != 0 || !start));
    if (!rst_n) begin
      running <= 0;
      in_left <= '0;
      key_left <= '0;
      in_ciphertext <= 0;
      in_at <= 0;
      in_half <= 0;
      half <= 0;
      full <= '0;
      fill_beat <= 0;
      fill_at <= 0;
      use_at <= 0;
      ahead <= 0;
      all_filled <= 0;
      row <= 0;
      cycles <= 0;
      out_ciphertext <= 0;
      out_beat <= 0;
    end else begin
      if (start) begin
        running <= 1;
        in_left <= count;
        key_left <= count;
      end
      if (command_valid && command_ready) key_left <= WHOLE || key_left <= CAPACITY ? '0 : key_left - CAPACITY;
      if (in_valid && in_ready) begin
        in_at <= in_ends ? 0 : in_at + 1;
        if (in_ends) begin
          in_left <= in_left - 1;
          in_ciphertext <= in_ends_batch ? 0 : in_ciphertext + 1;
          held[in_half] <= in_ciphertext + 1;
        end
        if (in_ends_batch) begin
          in_half <= !in_half;
          full[in_half] <= 1;
        end
      end
      if (beat_valid && beat_ready) begin
        fill_beat <= fill_beat == row_beats - 1 ? 0 : fill_beat + 1;
        if (fill_beat == row_beats - 1) begin
          fill_at <= fill_at == HELD - 1 ? 0 : fill_at + 1;
          if (fill_at == HELD - 1) all_filled <= 1;
        end
      end
      cycles <= row_over ? 0 : works ? cycles + 1 : cycles;
      if (row_over) begin
        row <= row == ROWS - AT_ONCE ? 0 : row + AT_ONCE;
        use_at <= use_at == HELD - AT_ONCE ? 0 : use_at + AT_ONCE;
      end
      ahead <= WHOLE && row_over && row == ROWS - AT_ONCE ? ROWS
               : ahead + (beat_valid && beat_ready && fill_beat == row_beats - 1 ? 1 : 0) - (row_over ? AT_ONCE : 0);
      if (out_valid && out_ready) begin
        out_beat <= out_ends ? 0 : out_beat + 1;
        if (out_ends) out_ciphertext <= out_ciphertext == held[half] - 1 ? 0 : out_ciphertext + 1;
        if (out_ends && out_ciphertext == held[half] - 1) begin
          half <= !half;
          full[half] <= 0;
        end
      end
    end
    if (started) begin
      assert (in_ready == (in_left != 0 && !full[in_half]));
      assert (command_valid == (key_left != 0) && {command_address, command_beats} == {key_address, key_beats});
      assert (beat_ready == (ahead != HELD));
      // Digits lie at (half·N + i)·CAPACITY + ciphertext, where they are read; a row's words in their group and lane.
      if (in_valid && in_ready && !in_ends)
        assert (int'(dut.in_address) == ((in_half ? N : 0) + in_at) * CAPACITY + in_ciphertext);
      assert (int'(dut.digit_base) == (state == IN_ROWS ? (half ? N : 0) + row / L_KS : half ? 0 : N) * CAPACITY);
      assert ((int'(dut.fill_group) * (WIDTH / KEY_WORDS) + int'(dut.fill_slot)) == fill_beat);
      // Rows lie in AT_ONCE banks; that which is written is none of those that wait to be used.
      assert (int'(dut.fill_row) == fill_at / AT_ONCE * GROUPS && int'(dut.fill_bank) == fill_at % AT_ONCE);
      assert (int'(dut.use_row) == use_at / AT_ONCE * GROUPS);
      assert (fill_at == (use_at + ahead) % HELD);
      // A product for each row, group and ciphertext, one a cycle.
      assert (busy == (works && cycles < held[half] * groups));
      if (busy) assert (int'(dut.group) == cycles / held[half] && int'(dut.c) == cycles % held[half]);
      assert (dut.row_over == row_over);
      // A sum is written before it is read again.
      if (dut.valid[1] && dut.valid[2]) assert (dut.place2 != dut.place3);
      if (state == FETCH || state == SEND) assert (dut.valid == '0);
      // Words past n are zeros.
      for (int w = 0; w < OUT_WORDS; w++) if (out_valid && out_beat * OUT_WORDS + w > int'(n)) assert (out_data[32*w+:32] == 0);
      if (out_valid) assert (full[half]);
      // What makes the induction go through.
      assert (dut.in_left == in_left && dut.key_left == key_left && dut.in_half == in_half && dut.full == full);
      assert (in_at >= 0 && in_at <= N && int'(dut.in_at) == in_at && int'(dut.in_ciphertext) == in_ciphertext);
      assert (in_ciphertext >= 0 && in_ciphertext < CAPACITY);
      if (!in_ends) assert (int'(dut.in_address) == ((in_half ? N : 0) + in_at) * CAPACITY + in_ciphertext);
      if (!running) assert (in_left == 0 && key_left == 0 && full == 0 && ahead == 0 && fill_beat == 0 && !all_filled);
      if (in_left == 0) assert (in_at == 0 && in_ciphertext == 0);
      if (full[in_half]) assert (in_at == 0 && in_ciphertext == 0);
      assert (dut.half == half && (full == 0 ? in_half == half : full == 2'b11 ? in_half == half : full[half] && in_half != half));
      for (int h = 0; h < 2; h++) if (full[h]) assert (held[h] >= 1 && held[h] <= CAPACITY && int'(dut.held[h]) == held[h]);
      assert (int'(dut.ahead) == ahead && ahead >= 0 && ahead <= HELD && fill_at >= 0 && fill_at < HELD);
      assert (use_at >= 0 && use_at < HELD && use_at % AT_ONCE == 0);
      if (WHOLE) assert (use_at == row && (all_filled ? ahead == ROWS - row : use_at + ahead < ROWS));
      if (WHOLE && all_filled) assert (fill_beat == 0);
      assert (fill_beat >= 0 && fill_beat < row_beats && int'(dut.fill_words) == fill_beat * KEY_WORDS);
      if (ahead == HELD) assert (fill_beat == 0);
      assert (int'(dut.fill_slot) < WIDTH / KEY_WORDS);
      assert (row >= 0 && row < ROWS && row % AT_ONCE == 0 && int'({dut.i, dut.j}) == row);
      assert (cycles >= 0 && (cycles == 0 || state == IN_ROWS && full[half] && ahead >= AT_ONCE && cycles < row_cycles));
      assert (int'(dut.cycles) == (cycles > 3 ? 3 : cycles));
      if (full[half] && state == IN_ROWS) begin
        assert (dut.all_issued == (cycles >= held[half] * groups));
        if (!dut.all_issued) assert (int'(dut.group) * held[half] + int'(dut.c) == cycles && int'(dut.c) < held[half] && int'(dut.group) < groups);
      end
      if (cycles == 0) assert (dut.c == 0 && dut.group == 0 && !dut.all_issued);
      if (dut.all_issued) assert (dut.c == 0 && dut.group == 0);
      if (state != IN_ROWS) assert (full[half] && row == 0 && cycles == 0);
      if (state == IN_ROWS || state == FINISH) assert (out_ciphertext == 0 && out_beat == 0 && dut.send_words == 0);
      if (state == IN_ROWS) assert (dut.finish == 0 && dut.send_slot == 0);
      if (state == SEND) assert (dut.finish == 0);
      if (state == FETCH) assert (dut.finish < 2 && dut.send_slot == 0);
      if (full[half]) assert (out_ciphertext >= 0 && out_ciphertext < held[half]);
      else assert (out_ciphertext == 0);
      assert (out_beat >= 0 && out_beat < out_beats && int'(dut.send_words) == out_beat * OUT_WORDS);
      assert (int'(dut.send_c) == out_ciphertext);
      assert (int'(dut.send_group) * (WIDTH / OUT_WORDS) + int'(dut.send_slot) == out_beat);
      // The products that are under way: of this row, or the last ones of a row of 4 or more.
      if (cycles > 0) assert (dut.valid[0] == (cycles - 1 < held[half] * groups));
      if (dut.valid[0] && cycles > 0) assert (int'(dut.place1) == place_of(cycles - 1));
      if (dut.valid[0] && cycles == 0)
        assert (full[half] && held[half] * groups >= 4 && int'(dut.place1) == place_of(held[half] * groups - 1));
      if (dut.valid[0] && dut.valid[1]) assert (dut.place1 != dut.place2);
      if (state == FINISH && dut.finish > 0) assert (!dut.valid[0]);
      if (state == FINISH && dut.finish > 1) assert (!dut.valid[1]);
      if (state == FINISH && dut.finish > 2) assert (!dut.valid[2]);
    end
  end
  function automatic int place_of(int product);
    return product / held[half] * CAPACITY + product % held[half];
  endfunction
endmodule
