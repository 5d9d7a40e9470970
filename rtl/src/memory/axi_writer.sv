// Writer of a region of memory: AXI4 writes from a stream.
// In: a command (address, a multiple of 4,096; beats), then so many beats. A burst is begun only when all its
// beats are in the queue. Out: `done` for a cycle when the last answer is in; `error` for a cycle with an
// answer other than OKAY. `flush`: no more bursts are begun; `idle` is 1 when none is unfinished.
module axi_writer #(
    parameter int DATA_BITS = 512,
    parameter int QUEUE_BURSTS = 2
) (
    input  logic                    clk,
    input  logic                    rst_n,
    input  logic                    command_valid,
    input  logic [63:0]             command_address,
    input  logic [39:0]             command_beats,
    input  logic                    in_valid,
    output logic                    in_ready,
    input  logic [DATA_BITS-1:0]    in_data,
    input  logic                    flush,
    output logic                    idle,
    output logic                    done,
    output logic                    error,
    output logic                    beat,
    output logic                    awvalid,
    input  logic                    awready,
    output logic [63:0]             awaddr,
    output logic [7:0]              awlen,
    output logic                    wvalid,
    input  logic                    wready,
    output logic [DATA_BITS-1:0]    wdata,
    output logic                    wlast,
    input  logic                    bvalid,
    output logic                    bready,
    input  logic [1:0]              bresp
);
  localparam int BYTES = DATA_BITS / 8;
  localparam int BURST = 4096 / BYTES < 64 ? 4096 / BYTES : 64;
  localparam int DEPTH = BURST * QUEUE_BURSTS, CW = $clog2(DEPTH) + 1;

  logic busy, writing, waiting;  // a region; a burst's data; a burst's answer
  logic [63:0] address;
  logic [39:0] left;
  logic [7:0] length, count;
  logic [CW-1:0] space, held;
  logic out_valid, begins;

  assign length = left < 40'(BURST) ? left[7:0] : 8'(BURST);
  assign held = CW'(DEPTH) - space;
  assign begins = busy && !flush && !awvalid && !writing && !waiting && left != '0
                  && held >= CW'(length);
  assign wvalid = writing && out_valid;
  assign wlast = count == 8'd1;
  assign bready = 1'b1;
  assign beat = wvalid && wready;
  assign error = bvalid && bresp != 2'b00;
  assign idle = !awvalid && !writing && !waiting;
  assign done = busy && bvalid && left == '0;

  always_ff @(posedge clk)
    if (!rst_n) begin
      busy <= 1'b0;
      awvalid <= 1'b0;
      writing <= 1'b0;
      waiting <= 1'b0;
    end else begin
      if (command_valid) busy <= 1'b1;
      if (awvalid && awready) awvalid <= 1'b0;
      if (begins) begin
        awvalid <= 1'b1;
        writing <= 1'b1;
        waiting <= 1'b1;
      end
      if (beat && wlast) writing <= 1'b0;
      if (bvalid) waiting <= 1'b0;
      if (done) busy <= 1'b0;
    end
  always_ff @(posedge clk) begin
    if (command_valid) begin
      address <= command_address;
      left <= command_beats;
    end else if (begins) begin
      address <= address + 64'(BURST * BYTES);
      left <= left - 40'(length);
    end
    if (begins) begin
      awaddr <= address;
      awlen <= length - 8'd1;
      count <= length;
    end else if (beat) count <= count - 8'd1;
  end

  stream_fifo #(.WIDTH(DATA_BITS), .DEPTH(DEPTH)) queue (
      .clk, .rst_n, .in_valid, .in_ready, .in_data, .out_valid, .out_ready(writing && wready),
      .out_data(wdata), .space);
endmodule
