// The schedule of README section 6. The environment: a run is started once after a reset; no more batches are loaded than
// there are, and no more than two are loaded and not drained; chunks become ready at any time, BUFFERS at most.
// Slots are followed one at a time: any slot is watched, from its begin to the last row of its key.
module sequencer_rules
  import whorl_pkg::*;
#(
    parameter int LOG_N = 6,
    parameter int LOG_B = 0,
    parameter int L = 1,
    parameter int M = 2,
    parameter int PES = 2,
    parameter int K = 2,
    parameter int BUFFERS = 2,
    parameter int LOG_STEPS = 2,
    localparam int LOG_ROWS = LOG_N - 1 - LOG_B,
    localparam int ROWS = 1 << LOG_ROWS,
    localparam int AW = $clog2(K * ROWS),
    localparam int KW = K > 1 ? $clog2(K) : 1,
    localparam int EW = 1 + KW + LOG_STEPS,
    localparam int BW = $clog2(BUFFERS)
) (
    input logic clk,
    input logic rst_n,
    input logic start,
    input logic [31:0] count,
    input logic [LOG_STEPS:0] steps,
    input logic batch_loaded,
    input logic chunk_ready,
    input logic watch
);
  // By the formulas of README section 6.
  localparam int TRANSFORM = 10 * LOG_N + ROWS - 1, LAT_WB = 2 * TRANSFORM + $clog2(2 * L) + 14;
  localparam int LAT_BKU = TRANSFORM - $clog2((1 << M) - 1) - 10, FIRST = LAT_BKU + 4;
  localparam int CAPACITY = PES * K;
  logic started, read_valid, read_bank, exponents_valid, key_valid, acquire, release_chunk, batch_done, slot_begins;
  logic waits_for_key, waits_for_accumulator, waits_for_batch;
  logic [PES-1:0] read_active, exponents_active, key_active, slot_active;
  logic [AW-1:0] read_address;
  logic [EW-1:0] exponents_address;
  logic [BW+LOG_ROWS-1:0] key_address;
  logic [$clog2(CAPACITY+1)-1:0] batch_done_count;
  sequencer #(.LOG_N(LOG_N), .LOG_B(LOG_B), .L(L), .M(M), .PES(PES), .K(K), .BUFFERS(BUFFERS), .LOG_STEPS(LOG_STEPS)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);

  // ---- the slots that README asks for, one after the other
  logic running;
  logic [31:0] left;  // ciphertexts of this batch and the next ones
  int in_batch, in_use, step, place;
  logic bank;
  int loaded;  // batches that wait; those that are not drained are at most two
  int since;   // cycles since the last slot began, up to ROWS
  int since_of_place[K];  // up to LAT_WB + 1
  assign in_batch = left > CAPACITY ? CAPACITY : int'(left);
  assign in_use = (in_batch + PES - 1) / PES;  // places
  logic last_place, last_step, may_begin;
  assign last_place = place == in_use - 1;
  assign last_step = step == int'(steps) - 1;
  int since_place;
  always_comb begin
    since_place = 0;
    for (int k = 0; k < K; k++) if (k == place) since_place = since_of_place[k];
    may_begin = left != 0 && since >= ROWS && since_place >= LAT_WB + 1 && (place != 0 || chunk_ready)
                && (place != 0 || step != 0 || loaded != 0);
  end
  logic [PES-1:0] active;
  always_comb for (int e = 0; e < PES; e++) active[e] = place * PES + e < in_batch;

  // ---- chunks: begun, and released
  logic [7:0] acquired, released;
  logic [BW-1:0] buffer;  // of this step

  // ---- the slot that is watched
  // FIRST, LAST: the cycles of the first and the last row of its key. END: that in which its batch is done.
  localparam int LAST = FIRST + ROWS - 1, END = LAT_WB + ROWS + 1, WW = $clog2(LAT_WB + ROWS + 2);
  int age;  // cycles since it began; 0: none
  logic [EW-1:0] the_address;
  logic [BW-1:0] the_buffer;
  logic [PES-1:0] the_active;
  logic the_last, the_final, the_bank;
  logic [KW-1:0] the_place;
  logic [7:0] the_chunk;
  int the_count;
  logic [2:0] the_entry;
  logic [LOG_STEPS:0] steps_held;
  int open;                      // batches that are loaded and not done
  logic [ROWS+2:0] due;          // [i]: exponents were due i + 1 cycles ago
  // What is in the queue: how long from now, from the oldest on, and how many last places.
  logic [2:0] entries, entry[8], until_the;
  logic [WW:0] wait_entry[8];
  logic [7:0] lasts, lasts_before;
  always_comb begin
    entries = dut.put_at - dut.take_at;
    until_the = the_entry - dut.take_at;
    lasts = '0;
    lasts_before = '0;
    for (int i = 0; i < 8; i++) begin
      entry[i] = dut.take_at + 3'(i);
      wait_entry[i] = dut.queue[entry[i]].time_due - dut.clock;
      if (i < int'(entries)) begin
        lasts = lasts + 8'(dut.queue[entry[i]].last);
        if (i < int'(until_the)) lasts_before = lasts_before + 8'(dut.queue[entry[i]].last);
      end
    end
  end
  logic [7:0] token_last, reading_last;  // of slots that left the queue
  assign token_last = 8'(due[2:0] != 0 && dut.token.last);
  assign reading_last = 8'(dut.reads_key && dut.key_last);
  always_ff @(posedge clk) begin
    steps_held <= steps;
    if (started && running) assume (!start && steps == steps_held);
    if (start) assume (steps != 0 && steps <= (1 << LOG_STEPS) && count != 0);
    if (started && batch_loaded) assume (open < 2);
    // The chunk buffer has a chunk ready only in a buffer of its own.
    if (started && chunk_ready) assume (8'(acquired - released) < BUFFERS);
    if (!rst_n) begin
      running <= 0;
      left <= '0;
      step <= 0;
      place <= 0;
      bank <= 0;
      loaded <= 0;
      since <= ROWS;
      for (int k = 0; k < K; k++) since_of_place[k] <= LAT_WB + 1;
      acquired <= '0;
      released <= '0;
      buffer <= '0;
      age <= 0;
      open <= 0;
      due <= '0;
    end else begin
      if (start) begin
        running <= 1;
        left <= count;
      end
      since <= slot_begins ? 1 : since == ROWS ? ROWS : since + 1;
      for (int k = 0; k < K; k++)
        since_of_place[k] <= slot_begins && k == place ? 1 : since_of_place[k] == LAT_WB + 1 ? LAT_WB + 1
                             : since_of_place[k] + 1;
      loaded <= loaded + (batch_loaded ? 1 : 0) - (slot_begins && last_place && last_step ? 1 : 0);
      acquired <= acquired + 8'(acquire);
      released <= released + 8'(release_chunk);
      if (slot_begins) begin
        place <= last_place ? 0 : place + 1;
        if (last_place) begin
          buffer <= buffer + 1'b1;
          step <= last_step ? 0 : step + 1;
          if (last_step) begin
            left <= left - 32'(in_batch);
            bank <= !bank;
          end
        end
      end
      open <= open + (batch_loaded ? 1 : 0) - (batch_done ? 1 : 0);
      due <= {due[ROWS+1:0], dut.due};
      if (slot_begins && watch && age == 0) begin
        age <= 1;
        the_address <= {bank, KW'(place), LOG_STEPS'(step)};
        the_buffer <= buffer;
        the_active <= active;
        the_last <= last_place;
        the_final <= last_place && last_step;
        the_bank <= bank;
        the_place <= KW'(place);
        the_chunk <= acquired + 8'(acquire);
        the_count <= in_batch;
        the_entry <= dut.put_at;
      end else if (age != 0) age <= age == END ? 0 : age + 1;
    end

    if (started) begin
      // When a slot begins, and which: never before all four conditions hold, and as soon as they do.
      assert (slot_begins == may_begin);
      assert (acquire == (slot_begins && place == 0));
      if (slot_begins) assert (slot_active == active && active[0]);
      assert (32'(waits_for_key) + 32'(waits_for_accumulator) + 32'(waits_for_batch) + 32'(slot_begins) <= 1);
      // The rows of its accumulator.
      if (age >= 1 && age <= ROWS)
        assert (read_valid && read_bank == the_bank && read_active == the_active
                && read_address == AW'({the_place, LOG_ROWS'(age - 1)}));
      // Its exponents, LAT_BKU cycles after its first row.
      if (age == LAT_BKU + 1)
        assert (exponents_valid && exponents_address == the_address && exponents_active == the_active);
      // Its chunk is there until the last row is read, and is released then, by the last place.
      if (age >= 1 && age <= LAST) assert (8'(the_chunk - released) >= 1 && 8'(the_chunk - released) <= BUFFERS);
      if (age >= FIRST && age <= LAST)
        assert (key_address == {the_buffer, LOG_ROWS'(age - FIRST)} && the_buffer == BW'(the_chunk - 1'b1));
      if (age >= FIRST && age <= LAST)
        assert (release_chunk == (age == LAST && the_last) && (!the_last || the_chunk == released + 8'd1));
      if (age >= FIRST + CHUNK_READ_LATENCY && age <= LAST + CHUNK_READ_LATENCY)
        assert (key_valid && key_active == the_active);
      assert (8'(acquired - released) <= BUFFERS);
      // Its batch is done when the last row is written back.
      if (the_final && age == END) assert (batch_done && int'(batch_done_count) == the_count);

      // What makes the induction go through. Which slot is next:
      assert (dut.left == left && int'(dut.step) == step && int'(dut.place) == place && dut.bank == bank);
      assert (int'(dut.loaded) == loaded && dut.buffer == buffer && buffer == BW'(acquired - 8'(place != 0)));
      assert (since >= 1 && since <= ROWS && int'(dut.spacing) == ROWS - since);
      for (int k = 0; k < K; k++)
        assert (since_of_place[k] >= 1 && since_of_place[k] <= LAT_WB + 1
                && int'(dut.wait_of[k]) == LAT_WB + 1 - since_of_place[k]);
      if (left != 0) assert (running && steps != 0 && steps <= (1 << LOG_STEPS) && step < int'(steps) && place < in_use);
      else assert (step == 0 && place == 0);
      assert (step >= 0 && place >= 0 && loaded >= 0 && loaded <= 2);
      if (step != 0 || place != 0) assert (loaded != 0);
      // batches:
      assert (open >= 0 && open <= 2);
      assert (open == loaded + (dut.until_done[0] != 0 ? 1 : 0) + (dut.until_done[1] != 0 ? 1 : 0));
      if (dut.until_done[bank] != 0) assert (dut.until_done[!bank] > dut.until_done[bank]);
      for (int x = 0; x < 2; x++) assert (int'(dut.until_done[x]) <= END);
      if (the_final && age != 0)
        assert (int'(dut.until_done[the_bank]) == END + 1 - age && int'(dut.count_of[the_bank]) == the_count);
      if (dut.until_done[!bank] == WW'(END)) assert (since == 1);
      // the queue:
      assert (int'(entries) <= (LAT_BKU - 1) / ROWS + 1);
      for (int i = 0; i < 8; i++)
        if (i < int'(entries)) begin
          assert (int'(wait_entry[i]) < LAT_BKU);
          if (i + 1 < int'(entries)) assert (int'(wait_entry[i+1]) >= int'(wait_entry[i]) + ROWS);
          else if (since < ROWS) assert (int'(wait_entry[i]) == LAT_BKU - since);
          else assert (int'(wait_entry[i]) <= LAT_BKU - ROWS);
        end
      // the slots that left it:
      for (int i = 0; i < ROWS + 3; i++)
        if (due[i]) begin
          for (int j = i + 1; j < ROWS + 3 && j < i + ROWS; j++) assert (!due[j]);
          if (i < ROWS - 1 && entries != 0) assert (int'(wait_entry[0]) >= ROWS - 1 - i);
          if (i >= 3) assert (int'(dut.key_row) == i - 3);
        end
      assert (exponents_valid == due[0] && dut.key_soon == due[2:1] && dut.reads_key == (due[ROWS+2:3] != 0));
      // chunks:
      assert (8'(acquired - released) == 8'(place != 0) + lasts + token_last + reading_last);
      // and the slot that is watched.
      assert (age >= 0 && age <= END);
      if (age >= 1 && age < ROWS) assert (since == age);
      if (age >= 1 && age <= ROWS) assert (int'(dut.row) == age - 1 && dut.row_place == the_place);
      if (age >= 1 && age <= LAT_BKU) begin
        assert (int'(until_the) < int'(entries) && int'(wait_entry[until_the]) == LAT_BKU - age);
        assert (dut.queue[the_entry].active == the_active && dut.queue[the_entry].address == the_address
                && dut.queue[the_entry].buffer == the_buffer && dut.queue[the_entry].last == the_last);
        assert (8'(the_chunk - released) == 8'd1 + lasts_before + token_last + reading_last);
      end
      if (age != 0) assert (the_buffer == BW'(the_chunk - 1'b1));
      if (age > LAT_BKU && age <= LAT_BKU + ROWS + 3) assert (due[age-LAT_BKU-1]);
      if (age > LAT_BKU && age < FIRST) begin
        assert (dut.token.buffer == the_buffer && dut.token.active == the_active && dut.token.last == the_last);
        assert (8'(the_chunk - released) == 8'd1 + reading_last);
      end
      if (age >= FIRST && age <= LAST) begin
        assert (dut.key_buffer == the_buffer && dut.key_pes == the_active && dut.key_last == the_last);
        assert (8'(the_chunk - released) == 8'd1);
      end
      for (int i = 0; i < CHUNK_READ_LATENCY; i++)
        if (age > FIRST + i && age <= LAST + 1 + i) assert (dut.key_late[i] && dut.pes_late[i] == the_active);
    end
  end
endmodule
