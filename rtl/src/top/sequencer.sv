// The schedule of slots, for all PEs at once.
// In: start, with the numbers of ciphertexts and of steps; batch_loaded for a cycle when a batch lies in its bank;
// chunk_ready: a whole chunk waits.
// Out: rows of accumulators to read, for the PEs in read_active; LAT_BKU cycles after a slot's first row, the place
// of its exponents; MONOMIALS_LATENCY - CHUNK_READ_LATENCY + 1 cycles after that, a row of the key in each of
// N/2B cycles, which reaches the PEs CHUNK_READ_LATENCY cycles later, with key_valid; acquire and
// release_chunk; batch_done when a batch's last row is written back, with the number of its ciphertexts.
// A slot begins when the last began N/2B cycles ago or more, the last of the same place LAT_WB + 1 cycles ago or
// more, the first slot of a step finds a whole chunk, and the first of a batch finds it loaded.
module sequencer
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int LOG_B = 0,
    parameter int L = 2,
    parameter int M = 2,
    parameter int PES = 1,
    parameter int K = 3,
    parameter int BUFFERS = 4,
    parameter int LOG_STEPS = 8,
    localparam int LOG_ROWS = LOG_N - 1 - LOG_B,
    localparam int ROWS = 1 << LOG_ROWS,
    localparam int AW = $clog2(K * ROWS),
    localparam int KW = K > 1 ? $clog2(K) : 1,
    localparam int EW = 1 + KW + LOG_STEPS,
    localparam int BW = $clog2(BUFFERS)
) (
    input  logic                       clk,
    input  logic                       rst_n,
    input  logic                       start,
    input  logic [31:0]                count,
    input  logic [LOG_STEPS:0]         steps,
    input  logic                       batch_loaded,
    input  logic                       chunk_ready,
    output logic                       read_valid,
    output logic [PES-1:0]             read_active,
    output logic                       read_bank,
    output logic [AW-1:0]              read_address,
    output logic                       exponents_valid,
    output logic [PES-1:0]             exponents_active,
    output logic [EW-1:0]              exponents_address,
    output logic                       key_valid,
    output logic [PES-1:0]             key_active,
    output logic [BW+LOG_ROWS-1:0]     key_address,
    output logic                       acquire,
    output logic                       release_chunk,
    output logic                       batch_done,
    output logic [$clog2(PES*K+1)-1:0] batch_done_count,
    // for counters
    output logic                       slot_begins,
    output logic [PES-1:0]             slot_active,
    output logic                       waits_for_key,
    output logic                       waits_for_accumulator,
    output logic                       waits_for_batch
);
  localparam int LAT_BKU = lat_bku(LOG_N, LOG_B, M), LAT_WB = lat_wb(LOG_N, LOG_B, L);
  localparam int TO_KEY = MONOMIALS_LATENCY - CHUNK_READ_LATENCY + 1;
  localparam int WW = $clog2(LAT_WB + ROWS + 2);
  localparam int CW = $clog2(PES * K + 1);

  // ---- which slot comes next
  logic [31:0] left;  // ciphertexts of this batch and those after it
  logic [CW-1:0] in_batch;
  logic bank;
  logic [LOG_STEPS-1:0] step;
  logic [KW-1:0] place;
  logic [1:0] loaded;  // batches that wait in their banks
  logic [BW-1:0] buffer;
  logic [LOG_ROWS-1:0] spacing;
  logic [K-1:0][WW-1:0] wait_of;  // until a place may begin again
  logic last_place, last_step, wants;

  localparam logic [31:0] CAPACITY = 32'(PES * K);
  assign in_batch = left < CAPACITY ? left[CW-1:0] : CAPACITY[CW-1:0];
  // Places in use: those with a ciphertext in PE 0.
  assign last_place = 32'(place) == 32'(K - 1) || (32'(place) + 32'd1) * 32'(PES) >= 32'(in_batch);
  assign last_step = {1'b0, step} == steps - 1'b1;
  always_comb
    for (int e = 0; e < PES; e++)
      slot_active[e] = 32'(place) * 32'(PES) + 32'(e) < 32'(in_batch);

  logic no_batch, no_accumulator, no_key;
  assign no_batch = step == '0 && place == '0 && loaded == '0;
  assign no_accumulator = wait_of[place] != '0;
  assign no_key = place == '0 && !chunk_ready;
  assign wants = left != '0 && spacing == '0;
  assign slot_begins = wants && !no_batch && !no_accumulator && !no_key;
  assign acquire = slot_begins && place == '0;
  assign waits_for_batch = wants && no_batch;
  assign waits_for_accumulator = wants && !no_batch && no_accumulator;
  assign waits_for_key = wants && !no_batch && !no_accumulator && no_key;

  always_ff @(posedge clk)
    if (!rst_n) begin
      left <= '0;
      bank <= 1'b0;
      step <= '0;
      place <= '0;
      loaded <= '0;
      buffer <= '0;
      spacing <= '0;
      wait_of <= '0;
    end else begin
      if (start) left <= count;
      loaded <= loaded + 2'(batch_loaded) - 2'(slot_begins && last_step && last_place);
      if (spacing != '0) spacing <= spacing - 1'b1;
      for (int k = 0; k < K; k++) if (wait_of[k] != '0) wait_of[k] <= wait_of[k] - 1'b1;
      if (slot_begins) begin
        spacing <= LOG_ROWS'(ROWS - 1);
        wait_of[place] <= WW'(LAT_WB);
        place <= last_place ? '0 : place + 1'b1;
        if (last_place) begin
          buffer <= buffer + 1'b1;
          step <= last_step ? '0 : step + 1'b1;
          if (last_step) begin
            left <= left - 32'(in_batch);
            bank <= !bank;
          end
        end
      end
    end

  // ---- its rows
  logic [KW-1:0] row_place;
  logic [LOG_ROWS-1:0] row;
  assign read_address = AW'({row_place, row});
  always_ff @(posedge clk)
    if (!rst_n) read_valid <= 1'b0;
    else if (slot_begins) read_valid <= 1'b1;
    else if (row == '1) read_valid <= 1'b0;
  always_ff @(posedge clk)
    if (slot_begins) begin
      row <= '0;
      row_place <= place;
      read_bank <= bank;
      read_active <= slot_active;
    end else row <= row + 1'b1;

  // ---- its bundle, LAT_BKU cycles later. A clock tells the time; slots wait in a queue.
  typedef struct packed {
    logic [WW:0] time_due;
    logic [PES-1:0] active;
    logic [EW-1:0] address;
    logic [BW-1:0] buffer;
    logic last;
  } slot_t;
  localparam int SLOTS = 8;
  logic [WW:0] clock;
  slot_t queue[SLOTS];
  logic [2:0] put_at, take_at;
  slot_t head, token;
  logic due;
  assign head = queue[take_at];
  assign due = put_at != take_at && head.time_due == clock;
  always_ff @(posedge clk)
    if (!rst_n) begin
      clock <= '0;
      put_at <= '0;
      take_at <= '0;
    end else begin
      clock <= clock + 1'b1;
      if (slot_begins) put_at <= put_at + 1'b1;
      if (due) take_at <= take_at + 1'b1;
    end
  always_ff @(posedge clk) begin
    // The first row is read in the cycle after this one, and `exponents_valid` is a register, too.
    if (slot_begins)
      queue[put_at] <= '{
          time_due: clock + (WW + 1)'(LAT_BKU), active: slot_active, address: {bank, place, step},
          buffer: buffer, last: last_place};
    if (due) token <= head;
    exponents_active <= head.active;
    exponents_address <= head.address;
  end
  always_ff @(posedge clk)
    if (!rst_n) exponents_valid <= 1'b0;
    else exponents_valid <= due;

  // ---- its rows of the key
  logic [TO_KEY-2:0] key_soon;
  logic reads_key, key_last;
  logic [LOG_ROWS-1:0] key_row;
  logic [BW-1:0] key_buffer;
  logic [PES-1:0] key_pes;
  assign key_address = {key_buffer, key_row};
  assign release_chunk = reads_key && key_row == '1 && key_last;
  always_ff @(posedge clk)
    if (!rst_n) begin
      key_soon <= '0;
      reads_key <= 1'b0;
    end else begin
      key_soon <= (TO_KEY - 1)'({key_soon, exponents_valid});
      if (key_soon[TO_KEY-2]) reads_key <= 1'b1;
      else if (key_row == '1) reads_key <= 1'b0;
    end
  always_ff @(posedge clk)
    if (key_soon[TO_KEY-2]) begin
      key_row <= '0;
      key_buffer <= token.buffer;
      key_last <= token.last;
      key_pes <= token.active;
    end else key_row <= key_row + 1'b1;
  logic [CHUNK_READ_LATENCY-1:0] key_late;
  logic [CHUNK_READ_LATENCY-1:0][PES-1:0] pes_late;
  always_ff @(posedge clk)
    if (!rst_n) key_late <= '0;
    else key_late <= {key_late[CHUNK_READ_LATENCY-2:0], reads_key};
  always_ff @(posedge clk) pes_late <= {pes_late[CHUNK_READ_LATENCY-2:0], key_pes};
  assign key_valid = key_late[CHUNK_READ_LATENCY-1];
  assign key_active = pes_late[CHUNK_READ_LATENCY-1];

  // ---- when its batch is written back: at most two are under way
  logic [1:0][WW-1:0] until_done;
  logic [1:0][CW-1:0] count_of;
  assign batch_done = until_done[0] == WW'(1) || until_done[1] == WW'(1);
  assign batch_done_count = until_done[0] == WW'(1) ? count_of[0] : count_of[1];
  always_ff @(posedge clk)
    if (!rst_n) until_done <= '0;
    else
      for (int x = 0; x < 2; x++)
        if (slot_begins && last_step && last_place && bank == x[0])
          until_done[x] <= WW'(LAT_WB + ROWS + 1);
        else if (until_done[x] != '0) until_done[x] <= until_done[x] - 1'b1;
  always_ff @(posedge clk)
    if (slot_begins && last_step && last_place) count_of[bank] <= in_batch;

  logic unused;
  assign unused = ^{token.time_due, token.address};
endmodule
