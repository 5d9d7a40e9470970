// Loads batches: reads records and test vectors, makes exponents, and sets accumulators to (0, t·X^-b).
// In: start with the descriptor's values; bank_free for a cycle when a bank has been drained.
// Out: writes to the PEs' memories of exponents and accumulators; batch_loaded for a cycle when a batch is complete.
// For key switching alone (switch_only) a record's words go to the stream `word`, and nothing is loaded.
// A ciphertext takes about n + N/2 + 20 cycles besides the memory's, and N + 10 more when its test vector is not that
// of the ciphertext before it. `error` is a code of README section 5 for a cycle, else 0.
module loader
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int LOG_B = 0,
    parameter int M = 2,
    parameter int PES = 1,
    parameter int K = 3,
    parameter int LOG_STEPS = 8,
    parameter int DATA_BITS = 512,
    localparam int N = 1 << LOG_N,
    localparam int B = 1 << LOG_B,
    localparam int LOG_ROWS = LOG_N - 1 - LOG_B,
    localparam int KW = K > 1 ? $clog2(K) : 1,
    localparam int AW = $clog2(K << LOG_ROWS),
    localparam int EW = 1 + KW + LOG_STEPS
) (
    input  logic                       clk,
    input  logic                       rst_n,
    input  logic                       start,
    input  logic                       switch_only,
    input  logic                       as_exponents,
    input  logic                       centred,
    input  logic [31:0]                n,
    input  logic [31:0]                count,
    input  logic [31:0]                luts,
    input  logic [LOG_N:0]             offset,
    input  logic [63:0]                in_address,
    input  logic [63:0]                lut_address,
    input  logic [39:0]                record_beats,
    input  logic                       bank_free,
    output logic                       batch_loaded,
    output logic [4:0]                 error,
    // reader
    output logic                       command_valid,
    input  logic                       command_ready,
    output logic [63:0]                command_address,
    output logic [39:0]                command_beats,
    input  logic                       beat_valid,
    output logic                       beat_ready,
    input  logic [DATA_BITS-1:0]       beat_data,
    // PEs
    output logic [PES-1:0]             exponents_write,
    output logic [EW-1:0]              exponents_address,
    output logic [M-1:0][LOG_N:0]      exponents_data,
    output logic [PES-1:0][B-1:0]      load_enable,
    output logic                       load_bank,
    output logic [AW-1:0]              load_address,
    output logic [1:0][32:0]           load_pair,
    // words for key switching alone
    output logic                       word_valid,
    input  logic                       word_ready,
    output logic [31:0]                word
);
  localparam int BYTES = DATA_BITS / 8;
  localparam logic [39:0] LUT_BEATS = 40'(N * 8 / BYTES);
  localparam int PW = PES > 1 ? $clog2(PES) : 1;
  localparam int MW = M > 1 ? $clog2(M) : 1;

  typedef enum logic [2:0] {
    IDLE, BANK, ASK_RECORD, RECORD, ASK_LUT, LUT, SPREAD, NEXT
  } state_t;
  state_t state;
  logic [31:0] left, at;
  logic [63:0] record;
  logic [PW-1:0] pe;
  logic [KW-1:0] place;
  logic bank;
  logic [1:0] free_banks;
  logic [31:0] lut, held_lut;
  logic lut_held;
  logic [LOG_N:0] rotation;

  // ---- words of beats
  logic words_ready, longs_ready, words_valid, longs_valid, words_take, longs_take;
  logic [31:0] narrow;
  logic [63:0] long_word;
  logic last_word;
  assign beat_ready = state == LUT ? longs_ready : state == RECORD && words_ready;
  beat_words #(.DATA_BITS(DATA_BITS), .WIDTH(32)) words (
      .clk, .rst_n, .in_valid(beat_valid && state == RECORD), .in_ready(words_ready),
      .in_data(beat_data), .out_valid(words_valid), .out_ready(words_take), .out_word(narrow),
      .skip(last_word));
  beat_words #(.DATA_BITS(DATA_BITS), .WIDTH(64)) longs (
      .clk, .rst_n, .in_valid(beat_valid && state == LUT), .in_ready(longs_ready),
      .in_data(beat_data), .out_valid(longs_valid), .out_ready(longs_take), .out_word(long_word),
      .skip(1'b0));
  assign last_word = at == (switch_only ? 32'(N) : n + 32'd1);
  assign words_take = state == RECORD && (!switch_only || word_ready);
  assign longs_take = state == LUT;
  assign word_valid = state == RECORD && switch_only && words_valid;
  assign word = narrow;

  // ---- exponents, M to a word
  logic exponent_valid, exponent_last, out_of_range;
  logic [LOG_N:0] exponent;
  exponents #(.LOG_N(LOG_N)) round (
      .clk, .rst_n, .as_exponents, .centred, .offset,
      .in_valid(words_valid && state == RECORD && !switch_only && at <= n), .in_first(at == '0),
      .in_last(at == n), .in_word(narrow), .out_valid(exponent_valid), .out_last(exponent_last),
      .out_exponent(exponent), .out_of_range);
  logic [M-1:0][LOG_N:0] group;
  logic [MW-1:0] in_group;
  logic [LOG_STEPS-1:0] step;
  logic group_full;
  assign group_full = exponent_valid && (exponent_last ? in_group != '0 : in_group == MW'(M - 1));
  always_comb
    for (int i = 0; i < M; i++)
      exponents_data[i] = i < int'(in_group) ? group[i]
                          : i == int'(in_group) && !exponent_last ? exponent : '0;
  always_comb
    for (int e = 0; e < PES; e++) exponents_write[e] = group_full && int'(pe) == e;
  assign exponents_address = {bank, place, step};
  always_ff @(posedge clk)
    if (state == ASK_RECORD) begin
      in_group <= '0;
      step <= '0;
    end else if (exponent_valid) begin
      in_group <= in_group == MW'(M - 1) ? '0 : in_group + 1'b1;
      if (group_full) step <= step + 1'b1;
      for (int i = 0; i < M; i++) if (i == int'(in_group)) group[i] <= exponent;
      if (exponent_last) rotation <= exponent;
    end

  // ---- the test vector, in two halves, and its rotation
  logic [32:0] low_half[N/2], high_half[N/2];
  logic [LOG_N:0] index;
  logic [32:0] low, high;
  logic spread_late, swap_late, negative_late;
  logic [LOG_N-2:0] j_late;
  assign index = {2'b00, at[LOG_N-2:0]} + rotation;
  always_ff @(posedge clk) begin
    if (longs_take && longs_valid) begin
      if (at[LOG_N-1]) high_half[at[LOG_N-2:0]] <= long_word[32:0];
      else low_half[at[LOG_N-2:0]] <= long_word[32:0];
    end
    low <= low_half[index[LOG_N-2:0]];
    high <= high_half[index[LOG_N-2:0]];
    swap_late <= index[LOG_N-1];
    negative_late <= index[LOG_N];
    j_late <= at[LOG_N-2:0];
  end
  // Coefficient j + N/2 is N/2 further on: the other half, and negative where j's is from the upper half.
  assign load_pair[0] = negative_late ? neg_mod(swap_late ? high : low) : swap_late ? high : low;
  assign load_pair[1] = negative_late != swap_late ? neg_mod(swap_late ? low : high)
                        : swap_late ? low : high;
  assign load_bank = bank;
  assign load_address = AW'({place, j_late[LOG_N-2:LOG_B]});
  always_comb
    for (int e = 0; e < PES; e++)
      for (int l = 0; l < B; l++)
        load_enable[e][l] = spread_late && int'(pe) == e && int'(j_late) % B == l;
  always_ff @(posedge clk)
    if (!rst_n) spread_late <= 1'b0;
    else spread_late <= state == SPREAD && !at[LOG_N-1];

  // ---- order
  logic last_of_batch;
  assign last_of_batch = left == 32'd1 || (int'(pe) == PES - 1 && int'(place) == K - 1);
  assign command_valid = state == ASK_RECORD || state == ASK_LUT;
  assign command_address = state == ASK_RECORD ? record : lut_address + (64'(lut) << (LOG_N + 3));
  assign command_beats = state == ASK_RECORD ? record_beats : LUT_BEATS;
  assign batch_loaded = state == NEXT && last_of_batch && !switch_only;

  always_comb begin
    error = OK;
    if (exponent_valid && out_of_range) error = EXPONENT_WRONG;
    else if (state == RECORD && words_valid && !switch_only && last_word && narrow >= luts)
      error = LUT_NUMBER;
    else if (longs_take && longs_valid && long_word >= {31'd0, P}) error = LUT_VALUE;
  end

  always_ff @(posedge clk)
    if (!rst_n) begin
      state <= IDLE;
      free_banks <= 2'd2;
      lut_held <= 1'b0;
      bank <= 1'b0;
      pe <= '0;
      place <= '0;
    end else begin
      free_banks <= free_banks + 2'(bank_free) - 2'(batch_loaded);
      case (state)
        IDLE:
        if (start) begin
          state <= BANK;
          left <= count;
          record <= in_address;
        end
        BANK: if (switch_only || free_banks != '0) state <= ASK_RECORD;
        ASK_RECORD: begin
          at <= '0;
          if (command_ready) begin
            state <= RECORD;
            record <= record + (64'(record_beats) << $clog2(BYTES));
          end
        end
        RECORD:
        if (words_valid && words_take) begin
          at <= at + 32'd1;
          lut <= narrow;
          if (last_word) begin
            state <= switch_only ? NEXT : lut_held && narrow == held_lut ? SPREAD : ASK_LUT;
            at <= '0;
          end
        end
        ASK_LUT: if (command_ready) state <= LUT;
        LUT:
        if (longs_valid) begin
          at <= at + 32'd1;
          if (at == 32'(N - 1)) begin
            at <= '0;
            state <= SPREAD;
            lut_held <= 1'b1;
            held_lut <= lut;
          end
        end
        SPREAD: begin
          at <= at + 32'd1;
          if (at == 32'(N / 2)) state <= NEXT;
        end
        default: begin  // NEXT
          left <= left - 32'd1;
          pe <= int'(pe) == PES - 1 || last_of_batch ? '0 : pe + 1'b1;
          if (last_of_batch) place <= '0;
          else if (int'(pe) == PES - 1) place <= place + 1'b1;
          if (last_of_batch) bank <= !bank;
          state <= left == 32'd1 ? IDLE : last_of_batch ? BANK : ASK_RECORD;
        end
      endcase
    end
endmodule
