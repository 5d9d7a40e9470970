// One port's part of the bootstrapping key's chunks: unpacks them and holds BUFFERS of them.
// In: the beats of the image of README section 3: groups of 33 beats, the first with the top bits. `acquire` takes
// the oldest chunk that is whole for the steps, `release_chunk` frees the oldest acquired. read_address = {buffer, row}.
// Out: `ready`: a whole chunk has not been acquired; the words of a row CHUNK_READ_LATENCY = 2 cycles after its address.
module chunk_buffer
  import whorl_pkg::*;
#(
    parameter int LOG_ROWS = 9,
    parameter int WORDS = 48,  // of a row
    parameter int DATA_BITS = 512,
    parameter int BUFFERS = 4,
    localparam int AW = LOG_ROWS + $clog2(BUFFERS)
) (
    input  logic                   clk,
    input  logic                   rst_n,
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [DATA_BITS-1:0]   in_data,
    output logic                   ready,
    input  logic                   acquire,
    input  logic                   release_chunk,
    input  logic [AW-1:0]          read_address,
    output logic [WORDS-1:0][32:0] row
);
  localparam int WIDE = DATA_BITS / 32;  // words a beat
  localparam int SLOTS = (WORDS + WIDE - 1) / WIDE;
  localparam int SW = SLOTS > 1 ? $clog2(SLOTS) : 1;
  localparam int CW = $clog2(BUFFERS) + 1;

  logic [DATA_BITS-1:0] tops;
  logic [5:0] place;  // beat of the group
  logic [SW-1:0] slot;
  logic [AW-1:0] write_address;
  logic [CW-1:0] held, whole;  // chunks that are not released; those that are whole and not acquired
  logic put, last;

  assign in_ready = held != CW'(BUFFERS);
  assign put = in_valid && in_ready && place != '0;
  assign last = put && slot == SW'(SLOTS - 1) && write_address[LOG_ROWS-1:0] == '1;
  assign ready = whole != '0;

  always_ff @(posedge clk)
    if (!rst_n) begin
      place <= '0;
      slot <= '0;
      write_address <= '0;
      held <= '0;
      whole <= '0;
    end else begin
      if (in_valid && in_ready) place <= place == 6'd32 ? '0 : place + 1'b1;
      if (put) begin
        slot <= slot == SW'(SLOTS - 1) ? '0 : slot + 1'b1;
        if (slot == SW'(SLOTS - 1)) write_address <= write_address + 1'b1;
      end
      // A chunk counts as held from its last word on; while it is written its buffer is free by `in_ready`.
      held <= held + CW'(last) - CW'(release_chunk);
      whole <= whole + CW'(last) - CW'(acquire);
    end
  // The top bits move down by a beat's words as they are used.
  always_ff @(posedge clk)
    if (in_valid && in_ready) tops <= place == '0 ? in_data : tops >> WIDE;

  logic [SLOTS*WIDE-1:0][32:0] out, late;
  for (genvar s = 0; s < SLOTS; s++) begin : g_slot
    logic [WIDE-1:0][32:0] memory[1 << AW];
    logic [WIDE-1:0][32:0] words;
    always_comb for (int w = 0; w < WIDE; w++) words[w] = {tops[w], in_data[32*w+:32]};
    always_ff @(posedge clk) begin
      out[s*WIDE+:WIDE] <= memory[read_address];
      if (put && slot == SW'(s)) memory[write_address] <= words;
    end
  end
  always_ff @(posedge clk) late <= out;
  assign row = late[WORDS-1:0];
  if (SLOTS * WIDE > WORDS) begin : g_padding
    logic unused;
    assign unused = ^late[SLOTS*WIDE-1:WORDS];
  end
endmodule
