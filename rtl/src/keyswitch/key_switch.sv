// Key-switching unit: (0, b) - Σ K_ij·digit_j(a_i) modulo 2^32 for batches of up to CAPACITY ciphertexts, which share
// each row of the key.
// In: start with the number of ciphertexts and the shape; for each ciphertext N + 1 words modulo 2^32 (a, b); the beats
// of the key once for each batch, up to KEY_ROWS rows ahead of their use. If KEY_ROWS rows are the whole key, its beats
// come once after the start, of which there is one after a reset, and all batches use them. Out: for each ciphertext n
// + 1 words, as beats padded with zeros.
// Lanes that have room for 2, 4 or 8 rows, where L_KS is a multiple, take so many rows of a coefficient at once.
// They take max(4, ciphertexts·groups) cycles, groups = ceil((n + 1)/LANES), or as long as their beats take to come.
// A batch is taken in while the one before is computed.
module key_switch
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int MAX_N_LWE = 500,
    parameter int L_KS = 8,
    parameter int LOG_BKS = 2,
    parameter int LANES = 512,
    parameter int KSK_BITS = 512,
    parameter int OUT_BITS = 512,
    parameter int CAPACITY = 3,
    parameter int KEY_ROWS = 2  // on the chip
) (
    input  logic                  clk,
    input  logic                  rst_n,
    input  logic                  start,
    input  logic [31:0]           count,
    input  logic [31:0]           n,
    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [31:0]           in_word,
    // the key: a command for each batch, or for all, and its beats
    input  logic [63:0]           key_address,
    input  logic [39:0]           key_beats,
    output logic                  command_valid,
    input  logic                  command_ready,
    output logic [63:0]           command_address,
    output logic [39:0]           command_beats,
    input  logic                  beat_valid,
    output logic                  beat_ready,
    input  logic [KSK_BITS-1:0]   beat_data,
    output logic                  out_valid,
    input  logic                  out_ready,
    output logic [OUT_BITS-1:0]   out_data,
    output logic                  busy  // a product in this cycle
);
  localparam int N = 1 << LOG_N;
  localparam int GROUPS = (MAX_N_LWE + LANES) / LANES;  // most
  localparam int GW = GROUPS > 1 ? $clog2(GROUPS) : 1;
  localparam int KEY_WORDS = KSK_BITS / 32, OUT_WORDS = OUT_BITS / 32;
  localparam int AT_ONCE = ks_rows_at_once(LANES, MAX_N_LWE, L_KS, KEY_WORDS, OUT_WORDS);
  localparam int WIDTH = LANES / AT_ONCE;  // lanes of a row
  localparam int KEY_SLOTS = WIDTH / KEY_WORDS, OUT_SLOTS = WIDTH / OUT_WORDS;
  localparam int KSW = KEY_SLOTS > 1 ? $clog2(KEY_SLOTS) : 1;
  localparam int OSW = OUT_SLOTS > 1 ? $clog2(OUT_SLOTS) : 1;
  localparam int CW = CAPACITY > 1 ? $clog2(CAPACITY) : 1;
  localparam int JW = L_KS > 1 ? $clog2(L_KS) : 1;
  localparam int DROPPED = 32 - L_KS * LOG_BKS;
  localparam int YW = 33 - DROPPED;  // of a value with the offset, shifted
  localparam int DW = LOG_BKS + 1;   // of a digit
  localparam int DIGIT_WORDS = 2 * N * CAPACITY, AW = $clog2(DIGIT_WORDS);
  localparam int SUM_WORDS = GROUPS * CAPACITY, SW = SUM_WORDS > 1 ? $clog2(SUM_WORDS) : 1;
  localparam logic [31:0] FULL = 32'(CAPACITY);

  function automatic logic [32:0] offset_of();
    logic [32:0] o;
    o = DROPPED > 0 ? 33'd1 << (DROPPED > 0 ? DROPPED - 1 : 0) : 33'd0;
    for (int d = 0; d + 1 < L_KS; d++) o = o + (33'd1 << (DROPPED + d * LOG_BKS + LOG_BKS - 1));
    return o;
  endfunction

  // ---- intake: digits, all of a coefficient in one word, at (half·N + i)·CAPACITY + ciphertext
  logic [YW-1:0] digits_memory[DIGIT_WORDS];
  logic [31:0] bodies[2 << CW];
  logic [31:0] in_left;
  logic in_half;
  logic [CW-1:0] in_ciphertext;
  logic [LOG_N:0] in_at;
  logic [AW-1:0] in_address;
  logic [1:0] full;
  logic [1:0][CW:0] held;  // ciphertexts of a half
  logic take_in, in_last, in_batch_last, free_half;
  logic signed [32:0] centred;
  logic [YW-1:0] shifted;
  assign in_ready = in_left != '0 && !full[in_half];
  assign take_in = in_valid && in_ready;
  assign in_last = in_at == (LOG_N + 1)'(N);
  assign in_batch_last = in_left == 32'd1 || int'(in_ciphertext) == CAPACITY - 1;
  // 2^31 itself stays positive.
  assign centred = {in_word > 32'h8000_0000, in_word};
  assign shifted = YW'((centred + offset_of()) >> DROPPED);
  localparam int HALF_WORDS = N * CAPACITY;
  always_ff @(posedge clk)
    if (take_in) begin
      if (in_last) bodies[{in_half, in_ciphertext}] <= in_word;
      else digits_memory[in_address] <= shifted;
    end
  always_ff @(posedge clk)
    if (!rst_n) begin
      in_left <= '0;
      in_half <= 1'b0;
      in_ciphertext <= '0;
      in_at <= '0;
      in_address <= '0;
    end else if (start) begin
      in_left <= count;
    end else if (take_in) begin
      in_at <= in_last ? '0 : in_at + 1'b1;
      in_address <= in_address + AW'(CAPACITY);
      if (in_last) begin
        in_left <= in_left - 32'd1;
        in_ciphertext <= in_batch_last ? '0 : in_ciphertext + 1'b1;
        in_half <= in_half ^ in_batch_last;
        in_address <= in_batch_last ? (in_half ? '0 : AW'(HALF_WORDS))
                      : (in_half ? AW'(HALF_WORDS) : '0) + AW'(in_ciphertext) + 1'b1;
      end
    end
  always_ff @(posedge clk)
    if (take_in && in_last) held[in_half] <= (CW + 1)'(in_ciphertext) + 1'b1;

  // ---- the key: a command a batch, or one for all of them
  localparam int ALL_ROWS = N * L_KS;
  localparam int ROWS_UP = (KEY_ROWS + AT_ONCE - 1) / AT_ONCE * AT_ONCE;
  localparam bit WHOLE = ROWS_UP >= ALL_ROWS;
  localparam int ROWS_HELD = WHOLE ? ALL_ROWS : ROWS_UP;
  logic [31:0] key_left;
  assign command_valid = key_left != '0;
  assign command_address = key_address;
  assign command_beats = key_beats;
  always_ff @(posedge clk)
    if (!rst_n) key_left <= '0;
    else if (start) key_left <= count;
    else if (command_valid && command_ready)
      key_left <= !WHOLE && key_left > FULL ? key_left - FULL : '0;

  // Its rows on the chip: a ring. The whole key goes round once a batch, and stays.
  logic [31:0] row_words, groups;
  assign row_words = n + 32'd1;
  assign groups = (row_words + 32'(LANES - 1)) / 32'(LANES);
  localparam int BANK_WORDS = ROWS_HELD / AT_ONCE * GROUPS, RW = BANK_WORDS > 1 ? $clog2(BANK_WORDS) : 1;
  localparam int HW = $clog2(ROWS_HELD + 1), BW = AT_ONCE > 1 ? $clog2(AT_ONCE) : 1;
  localparam logic [RW-1:0] LAST_ROW = RW'(BANK_WORDS - GROUPS);
  logic [HW-1:0] ahead;              // rows from those in use on that are there
  logic [RW-1:0] fill_row, use_row;  // where rows begin
  logic [BW-1:0] fill_bank;
  logic [KSW-1:0] fill_slot;
  logic [GW-1:0] fill_group;
  logic [31:0] fill_words;  // words of the row before this beat
  logic fill_last, filled, row_over, last_row;
  assign beat_ready = ahead != HW'(ROWS_HELD);
  assign fill_last = fill_words + 32'(KEY_WORDS) >= row_words;
  assign filled = beat_valid && beat_ready && fill_last;
  logic [AT_ONCE-1:0][WIDTH-1:0][31:0] row, row1, row2;
  logic [GW-1:0] group;
  for (genvar r = 0; r < AT_ONCE; r++) begin : g_bank
    for (genvar s = 0; s < KEY_SLOTS; s++) begin : g_row
      logic [KSK_BITS-1:0] words[BANK_WORDS];
      always_ff @(posedge clk)
        if (beat_valid && beat_ready && fill_bank == BW'(r) && fill_slot == KSW'(s))
          words[fill_row+RW'(fill_group)] <= beat_data;
      assign row[r][s*KEY_WORDS+:KEY_WORDS] = words[use_row+RW'(group)];
    end
  end
  always_ff @(posedge clk)
    if (!rst_n) begin
      ahead <= '0;
      fill_row <= '0;
      use_row <= '0;
      fill_bank <= '0;
      fill_slot <= '0;
      fill_group <= '0;
      fill_words <= '0;
    end else begin
      ahead <= WHOLE && row_over && last_row ? HW'(ALL_ROWS)
               : ahead + HW'(filled) - (row_over ? HW'(AT_ONCE) : '0);
      if (filled) begin
        fill_bank <= fill_bank == BW'(AT_ONCE - 1) ? '0 : fill_bank + 1'b1;
        if (fill_bank == BW'(AT_ONCE - 1))
          fill_row <= fill_row == LAST_ROW ? '0 : fill_row + RW'(GROUPS);
      end
      if (row_over) use_row <= use_row == LAST_ROW ? '0 : use_row + RW'(GROUPS);
      if (beat_valid && beat_ready) begin
        fill_slot <= fill_last || fill_slot == KSW'(KEY_SLOTS - 1) ? '0 : fill_slot + 1'b1;
        fill_words <= fill_last ? '0 : fill_words + 32'(KEY_WORDS);
        if (fill_last) fill_group <= '0;
        else if (fill_slot == KSW'(KEY_SLOTS - 1)) fill_group <= fill_group + 1'b1;
      end
    end

  // ---- products: for each row, group and ciphertext
  typedef enum logic [1:0] { ROWS, FINISH, FETCH, SEND } state_t;
  state_t state;
  logic half, works, issue, last_issue;
  logic [LOG_N-1:0] i;
  logic [JW-1:0] j;
  logic [CW-1:0] c;
  logic [1:0] cycles;  // of this row, up to 3
  logic all_issued;
  logic [AW-1:0] digit_base;
  logic first_row, last_digits;
  assign last_digits = j == JW'(L_KS - AT_ONCE);
  assign works = state == ROWS && full[half] && ahead >= HW'(AT_ONCE);
  assign issue = works && !all_issued;
  assign last_issue = int'(c) == int'(held[half]) - 1 && 32'(group) == groups - 32'd1;
  // Sums come back to a place 4 cycles later at the earliest.
  assign row_over = works && (all_issued || last_issue) && cycles == 2'd3;
  assign busy = issue;
  assign first_row = i == '0 && j == '0;
  assign last_row = i == '1 && last_digits;

  logic [2:0] finish;
  logic [CW-1:0] send_c;
  logic [GW-1:0] send_group;
  logic [OSW-1:0] send_slot;
  logic [31:0] send_words;
  logic sent_last_beat;
  assign sent_last_beat = send_words + 32'(OUT_WORDS) >= row_words;
  assign free_half = state == SEND && out_ready && sent_last_beat && int'(send_c) == int'(held[half]) - 1;
  always_ff @(posedge clk)
    if (!rst_n) full <= '0;
    else begin
      if (take_in && in_last && in_batch_last) full[in_half] <= 1'b1;
      if (free_half) full[half] <= 1'b0;
    end

  always_ff @(posedge clk)
    if (!rst_n) begin
      state <= ROWS;
      half <= 1'b0;
      i <= '0;
      j <= '0;
      c <= '0;
      group <= '0;
      cycles <= '0;
      all_issued <= 1'b0;
      digit_base <= '0;
      finish <= '0;
      send_c <= '0;
      send_group <= '0;
      send_slot <= '0;
      send_words <= '0;
    end else
      case (state)
        ROWS:
        if (works) begin
          if (cycles != 2'd3) cycles <= cycles + 1'b1;
          if (issue) begin
            c <= int'(c) == int'(held[half]) - 1 ? '0 : c + 1'b1;
            if (int'(c) == int'(held[half]) - 1) group <= last_issue ? '0 : group + 1'b1;
            if (last_issue) all_issued <= 1'b1;
          end
          if (row_over) begin
            all_issued <= 1'b0;
            cycles <= '0;
            j <= last_digits ? '0 : j + JW'(AT_ONCE);
            if (last_digits) begin
              i <= i + 1'b1;
              digit_base <= last_row ? (half ? '0 : AW'(HALF_WORDS)) : digit_base + AW'(CAPACITY);
            end
            if (last_row) state <= FINISH;
          end
        end
        FINISH: begin  // the last sums are written
          finish <= finish + 1'b1;
          if (finish == '1) state <= FETCH;
        end
        FETCH: begin  // a word of sums is read in two cycles
          finish <= finish + 1'b1;
          if (finish[0]) begin
            finish <= '0;
            state <= SEND;
          end
        end
        default:  // SEND
        if (out_ready) begin
          send_slot <= send_slot + 1'b1;
          send_words <= send_words + 32'(OUT_WORDS);
          if (sent_last_beat || send_slot == OSW'(OUT_SLOTS - 1)) begin
            send_slot <= '0;
            state <= FETCH;
            send_group <= send_group + 1'b1;
          end
          if (sent_last_beat) begin
            send_words <= '0;
            send_group <= '0;
            send_c <= send_c + 1'b1;
            if (int'(send_c) == int'(held[half]) - 1) begin
              send_c <= '0;
              half <= !half;
              state <= ROWS;
            end
          end
        end
      endcase

  // Cycle 0: digits, body and row are read; 1: the digit is chosen; 2: products, and sums are read; 3: the sum.
  logic [YW-1:0] y1;
  logic [31:0] body1, body2, body3;
  logic [2:0] valid;
  logic [JW-1:0] j1;
  logic [SW-1:0] place0, place1, place2, place3;
  logic [GW-1:0] group1, group2, group3;
  logic first1, first2, first3;
  logic [AT_ONCE-1:0][DW-1:0] digit, digit2;  // signed
  logic [WIDTH-1:0][31:0] sums[SUM_WORDS];
  logic [AT_ONCE-1:0][WIDTH-1:0][31:0] product3;
  logic [WIDTH-1:0][31:0] sum3, next3, sent;
  assign place0 = SW'(int'(group) * CAPACITY + int'(c));
  always_comb
    for (int r = 0; r < AT_ONCE; r++) begin
      logic signed [DW-1:0] moved;
      moved = DW'($signed(y1) >>> ((int'(j1) + r) * LOG_BKS));
      // The top digit is what is left; the others lose half a base.
      if (int'(j1) + r == L_KS - 1) digit[r] = moved;
      else digit[r] = {1'b0, moved[LOG_BKS-1:0]} - DW'(1 << (LOG_BKS - 1));
    end
  always_comb
    for (int v = 0; v < WIDTH; v++) begin
      logic [31:0] next;
      next = !first3 ? sum3[v] : 32'(group3) * 32'(WIDTH) + 32'(v) == n ? body3 : '0;
      for (int r = 0; r < AT_ONCE; r++) next = next - product3[r][v];
      next3[v] = next;
    end
  always_ff @(posedge clk)
    if (!rst_n) valid <= '0;
    else valid <= {valid[1:0], issue};
  // row·digit by shifts and sums: a digit has few bits, and no DSP is spent.
  function automatic logic [31:0] times_digit(logic [31:0] word, logic [DW-1:0] by);
    logic [31:0] sum;
    sum = by[DW-1] ? -(word << (DW - 1)) : '0;
    for (int bit_at = 0; bit_at < DW - 1; bit_at++) if (by[bit_at]) sum = sum + (word << bit_at);
    return sum;
  endfunction
  // The wide registers move only when there is something in them.
  always_ff @(posedge clk) begin
    if (issue) row1 <= row;
    if (valid[0]) row2 <= row1;
    if (valid[1])
      for (int r = 0; r < AT_ONCE; r++)
        for (int v = 0; v < WIDTH; v++) product3[r][v] <= times_digit(row2[r][v], digit2[r]);
    if (valid[1] || state == FETCH)
      sum3 <= sums[state==FETCH?SW'(int'(send_group)*CAPACITY+int'(send_c)) : place2];
    if (valid[2]) sums[place3] <= next3;
    if (state == FETCH) sent <= sum3;
    else if (state == SEND && out_ready) sent <= sent >> (OUT_SLOTS > 1 ? OUT_BITS : 0);
  end
  always_ff @(posedge clk) begin
    y1 <= digits_memory[digit_base+AW'(c)];
    body1 <= bodies[{half, c}];
    j1 <= j;
    place1 <= place0;
    group1 <= group;
    first1 <= first_row;
    digit2 <= digit;
    place2 <= place1;
    body2 <= body1;
    group2 <= group1;
    first2 <= first1;
    place3 <= place2;
    body3 <= body2;
    group3 <= group2;
    first3 <= first2;
  end
  assign out_valid = state == SEND;
  always_comb
    for (int w = 0; w < OUT_WORDS; w++)
      out_data[32*w+:32] = send_words + 32'(w) <= n ? sent[w] : '0;
endmodule
