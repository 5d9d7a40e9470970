// The chunks of a port. Chunks are ROWS rows of SLOTS·WIDE words; groups of 33 beats go on across them.
// One word that is watched, at any place of any buffer, is followed from the beats to the row that is read: so all are.
module chunk_buffer_keeps #(
    parameter int LOG_ROWS = 1,
    parameter int WORDS = 3,
    parameter int DATA_BITS = 64,
    parameter int BUFFERS = 2
) (
    input logic clk,
    input logic rst_n,
    input logic in_valid,
    input logic [DATA_BITS-1:0] in_data,
    input logic acquire,
    input logic release_chunk,
    input logic [LOG_ROWS+$clog2(BUFFERS)-1:0] read_address,
    input logic [15:0] choice
);
  localparam int WIDE = DATA_BITS / 32, SLOTS = (WORDS + WIDE - 1) / WIDE, BW = $clog2(BUFFERS);
  localparam int BEATS = SLOTS << LOG_ROWS;  // of words, a chunk
  logic started, in_ready, ready;
  logic [WORDS-1:0][32:0] row;
  chunk_buffer #(.LOG_ROWS(LOG_ROWS), .WORDS(WORDS), .DATA_BITS(DATA_BITS), .BUFFERS(BUFFERS)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);

  // What is watched: any, and always the same.
  logic [BW-1:0] the_buffer;
  logic [LOG_ROWS-1:0] the_row;
  int the_word;
  always_ff @(posedge clk) if (!started) begin
    the_buffer <= choice[0+:BW];
    the_row <= choice[BW+:LOG_ROWS];
    the_word <= int'(choice[BW+LOG_ROWS+:8]);
  end

  logic [DATA_BITS-1:0] tops;
  int place, beat;  // beats taken of the group; beats of words of the chunk
  logic [BW-1:0] filling, first, oldest;  // buffers: that is written; that is acquired next; that is released next
  int whole, acquired;                    // chunks that wait; that are read
  logic [32:0] stored, word;
  logic takes, stores, known;  // known: it was stored since the reset
  assign takes = in_valid && in_ready;
  assign stores = takes && place != 0 && filling == the_buffer && beat == int'(the_row) * SLOTS + the_word / WIDE;
  always_comb begin
    word = '0;
    for (int w = 0; w < WIDE; w++)
      if (the_word % WIDE == w) word = {tops[place == 0 ? 0 : (place-1)*WIDE+w], in_data[32*w+:32]};
  end
  logic [SLOTS-1:0][32:0] in_memory;
  for (genvar s = 0; s < SLOTS; s++) begin : g_slot
    logic [WIDE-1:0][32:0] words;
    assign words = dut.g_slot[s].memory[{the_buffer, the_row}];
    assign in_memory[s] = words[the_word%WIDE];
  end
  // Reads of the last two cycles that were for the word, and what it was.
  logic [1:0] asked;
  logic [1:0][32:0] expected;
  logic held;
  assign held = acquired > 0 && BW'(the_buffer - oldest) < (BW + 1)'(acquired);
  always_ff @(posedge clk) begin
    if (started && acquire) assume (ready);
    if (started && release_chunk) assume (acquired != 0);
    if (started) assume (the_word < WORDS);
    asked <= !rst_n ? '0 : {asked[0], held && read_address == {the_buffer, the_row}};
    expected <= {expected[0], stored};
    if (!rst_n) begin
      place <= 0;
      beat <= 0;
      filling <= '0;
      first <= '0;
      oldest <= '0;
      whole <= 0;
      acquired <= 0;
    end else begin
      if (takes) begin
        place <= place == 32 ? 0 : place + 1;
        if (place == 0) tops <= in_data;
        else begin
          beat <= beat == BEATS - 1 ? 0 : beat + 1;
          if (beat == BEATS - 1) filling <= filling + 1'b1;
        end
      end
      if (stores) stored <= word;
      whole <= whole + (takes && place != 0 && beat == BEATS - 1 ? 1 : 0) - (acquire ? 1 : 0);
      acquired <= acquired + (acquire ? 1 : 0) - (release_chunk ? 1 : 0);
      if (acquire) first <= first + 1'b1;
      if (release_chunk) oldest <= oldest + 1'b1;
    end
    if (started) begin
      assert (ready == (whole != 0));
      // It waits for nothing but room.
      assert (in_ready == (whole + acquired != BUFFERS));
      // A word that can be read is not written.
      if (held) assert (!stores);
      if (asked[1]) assert (row[the_word] == expected[1]);
      // What makes the induction go through.
      assert (place >= 0 && place <= 32 && beat >= 0 && beat < BEATS && whole >= 0 && acquired >= 0);
      assert (whole + acquired <= BUFFERS);
      assert (first == oldest + BW'(acquired) && filling == first + BW'(whole));
      assert (int'(dut.place) == place && int'(dut.held) == whole + acquired && int'(dut.whole) == whole);
      assert (dut.write_address == {filling, LOG_ROWS'(beat / SLOTS)} && int'(dut.slot) == beat % SLOTS);
      if (place != 0) assert (dut.tops == tops >> ((place - 1) * WIDE));
      for (int s = 0; s < SLOTS; s++) if (known && the_word / WIDE == s) assert (in_memory[s] == stored);
      if (asked[0]) assert (33'(dut.out >> (33 * the_word)) == expected[0]);
      // Chunks that wait or are read are whole, and of the one that is written the first beats are there.
      if (BW'(the_buffer - oldest) < (BW + 1)'(whole + acquired)) assert (known);
      if (filling == the_buffer && whole + acquired != BUFFERS && beat > int'(the_row) * SLOTS + the_word / WIDE)
        assert (known);
    end
    if (!rst_n) known <= 0;
    else if (stores) known <= 1;
  end
endmodule
