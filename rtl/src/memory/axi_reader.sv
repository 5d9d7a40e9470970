// Streamer of a region of memory: AXI4 reads, answers in order into a queue.
// In: a command (address, a multiple of a beat; beats ≥ 1); the next is taken when all bursts of the last have been
// asked for. Out: the beats in order. Bursts end at multiples of their full size, which divides 4,096 bytes. A burst is
// asked for only when the queue has room for all of it, so that `rready` is always 1.
// `flush`: no more bursts are asked for, and what comes is dropped; `idle` is 1 when nothing is outstanding.
// `error` is 1 for a cycle when a beat came with an answer other than OKAY.
module axi_reader #(
    parameter int DATA_BITS = 512,
    parameter int QUEUE_BURSTS = 4
) (
    input  logic                  clk,
    input  logic                  rst_n,
    input  logic                  command_valid,
    output logic                  command_ready,
    input  logic [63:0]           command_address,
    input  logic [39:0]           command_beats,
    output logic                  out_valid,
    input  logic                  out_ready,
    output logic [DATA_BITS-1:0]  out_data,
    input  logic                  flush,
    output logic                  idle,
    output logic                  error,
    output logic                  beat,
    output logic                  arvalid,
    input  logic                  arready,
    output logic [63:0]           araddr,
    output logic [7:0]            arlen,
    input  logic                  rvalid,
    output logic                  rready,
    input  logic [DATA_BITS-1:0]  rdata,
    input  logic [1:0]            rresp
);
  localparam int BYTES = DATA_BITS / 8;
  localparam int BURST = 4096 / BYTES < 64 ? 4096 / BYTES : 64;
  localparam int DEPTH = BURST * QUEUE_BURSTS, CW = $clog2(DEPTH) + 1;

  logic busy;
  logic [63:0] address;
  logic [39:0] left;
  logic [CW-1:0] reserved;  // beats asked for that have not left the queue
  logic [CW-1:0] outstanding;
  logic [7:0] length, room;  // of the next burst, and to the next multiple of a full burst
  logic ask, take;

  assign command_ready = !busy;
  localparam int LOW = $clog2(BYTES);
  if (BURST == 1) begin : g_one
    assign room = 8'd1;
  end else begin : g_many
    assign room = 8'(BURST) - 8'(address[LOW+:$clog2(BURST)]);
  end
  assign length = left < 40'(room) ? left[7:0] : room;
  assign ask = busy && !flush && (!arvalid || arready) && reserved <= CW'(DEPTH) - CW'(length);
  assign take = out_valid && out_ready;
  assign rready = 1'b1;
  assign beat = rvalid;
  assign error = rvalid && rresp != 2'b00;
  assign idle = outstanding == '0 && !arvalid;

  always_ff @(posedge clk)
    if (!rst_n) begin
      busy <= 1'b0;
      arvalid <= 1'b0;
      reserved <= '0;
      outstanding <= '0;
    end else begin
      if (arvalid && arready) arvalid <= 1'b0;
      if (command_valid && command_ready) busy <= 1'b1;
      if (ask) begin
        arvalid <= 1'b1;
        if (left == 40'(length)) busy <= 1'b0;
      end
      reserved <= reserved + (ask ? CW'(length) : '0) - CW'(take);
      outstanding <= outstanding + (ask ? CW'(length) : '0) - CW'(rvalid);
    end
  always_ff @(posedge clk) begin
    if (command_valid && command_ready) begin
      address <= command_address;
      left <= command_beats;
    end else if (ask) begin
      araddr <= address;
      arlen <= length - 8'd1;
      address <= address + (64'(length) << LOW);
      left <= left - 40'(length);
    end
  end

  logic in_ready;
  logic [CW-1:0] space;
  stream_fifo #(.WIDTH(DATA_BITS), .DEPTH(DEPTH)) queue (
      .clk, .rst_n, .in_valid(rvalid && !flush), .in_ready, .in_data(rdata), .out_valid, .out_ready,
      .out_data, .space);
  always_ff @(posedge clk)
    if (rst_n) assert (!rvalid || in_ready) else $error("the queue has no room");
  logic unused;
  assign unused = ^space;
endmodule
