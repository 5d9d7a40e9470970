// The masters of the memory ports. The memory answers only what was asked; it may stall and answer as it likes.
// Proved by induction from any reset on, for one width.
module axi_reader_rules #(
    parameter int DATA_BITS = 64,
    parameter int QUEUE_BURSTS = 2
) (
    input logic clk,
    input logic rst_n,
    input logic command_valid,
    input logic [63:0] command_address,
    input logic [39:0] command_beats,
    input logic out_ready,
    input logic [DATA_BITS-1:0] rdata,
    input logic [1:0] rresp,
    input logic flush,
    input logic arready,
    input logic rvalid
);
  localparam int BYTES = DATA_BITS / 8, BURST = 4096 / BYTES < 64 ? 4096 / BYTES : 64, DEPTH = BURST * QUEUE_BURSTS;
  logic command_ready, out_valid, idle, error, beat, arvalid, rready;
  logic [DATA_BITS-1:0] out_data;
  logic [63:0] araddr;
  logic [7:0] arlen;
  axi_reader #(.DATA_BITS(DATA_BITS), .QUEUE_BURSTS(QUEUE_BURSTS)) dut (.*);
  logic started = 0, waited;
  logic [63:0] address_before;
  logic [7:0] length_before;
  logic [11:0] owed;  // beats that the memory owes
  always_ff @(posedge clk) begin
    started <= 1;
    if (!started) assume (!rst_n);
    if (command_valid) assume (command_beats != 0 && command_address % BYTES == 0);
    if (started && rvalid) assume (owed != 0);
    owed <= !rst_n ? '0 : owed + (arvalid && arready ? 12'(arlen) + 12'd1 : 12'd0) - 12'(rvalid);
    waited <= rst_n && arvalid && !arready;
    address_before <= araddr;
    length_before <= arlen;
    if (started) begin
      if (waited) assert (arvalid && araddr == address_before && arlen == length_before);
      if (arvalid) begin
        assert (32'(arlen) < BURST && araddr % BYTES == 0);
        assert (araddr[63:12] == 52'((araddr + 64'(arlen) * BYTES) >> 12));
      end
      if (rvalid) assert (rready);
      if (rvalid && !flush) assert (dut.in_ready);  // the queue has room
      assert (idle == (owed == 0 && !arvalid));
      // What makes the induction go through.
      assert (32'(owed) <= DEPTH && 12'(dut.outstanding) == owed + (arvalid ? 12'(arlen) + 12'd1 : 12'd0));
      assert (12'(dut.outstanding) + 12'(dut.queue.count) <= 12'(dut.reserved) && 12'(dut.reserved) <= 12'(DEPTH));
      assert (dut.queue.ready_head == (dut.queue.count != 0));
      if (dut.busy) assert (dut.left != 0 && dut.address % BYTES == 0);
    end
  end
endmodule

module axi_writer_rules #(
    parameter int DATA_BITS = 64,
    parameter int QUEUE_BURSTS = 2
) (
    input logic clk,
    input logic rst_n,
    input logic command_valid,
    input logic [63:0] command_address,
    input logic [39:0] command_beats,
    input logic in_valid,
    input logic [DATA_BITS-1:0] in_data,
    input logic flush,
    input logic awready,
    input logic wready,
    input logic bvalid,
    input logic [1:0] bresp
);
  localparam int BYTES = DATA_BITS / 8, BURST = 4096 / BYTES < 64 ? 4096 / BYTES : 64, DEPTH = BURST * QUEUE_BURSTS;
  logic in_ready, idle, done, error, beat, awvalid, wvalid, wlast, bready;
  logic [63:0] awaddr;
  logic [7:0] awlen;
  logic [DATA_BITS-1:0] wdata;
  axi_writer #(.DATA_BITS(DATA_BITS), .QUEUE_BURSTS(QUEUE_BURSTS)) dut (.*);
  logic started = 0, waited, w_waited, last_before;
  logic [63:0] address_before;
  logic [7:0] length_before, sent;  // beats of the burst that were sent
  logic open;                        // a burst whose last beat was not sent
  always_ff @(posedge clk) begin
    started <= 1;
    if (!started) assume (!rst_n);
    // One region at a time; an answer comes after the address and the last beat.
    if (command_valid) assume (!dut.busy && idle && command_address % 4096 == 0 && command_beats != 0);
    if (started && bvalid) assume (dut.waiting && !awvalid && !dut.writing);
    waited <= rst_n && awvalid && !awready;
    w_waited <= rst_n && wvalid && !wready;
    last_before <= wlast;
    address_before <= awaddr;
    length_before <= awlen;
    sent <= !rst_n || (beat && wlast) ? '0 : sent + 8'(beat);
    if (started) begin
      if (waited) assert (awvalid && awaddr == address_before && awlen == length_before);
      if (w_waited) assert (wvalid && wlast == last_before);
      if (awvalid) begin
        assert (32'(awlen) < BURST);
        assert (awaddr[63:12] == 52'((awaddr + 64'(awlen) * BYTES) >> 12));
      end
      if (wvalid) assert (wlast == (sent == awlen));
      if (dut.writing) assert (wvalid);  // a burst has no gaps
      assert (bready);
      // What makes the induction go through.
      if (dut.writing) begin
        assert (dut.count != 0 && 9'(dut.count) + 9'(sent) == 9'(awlen) + 9'd1);
        assert (32'(dut.queue.count) >= 32'(dut.count));
      end else assert (sent == 0);
      if (dut.writing || awvalid) assert (dut.waiting);
      if (dut.busy) assert (dut.address % (BURST * BYTES) == 0);
      assert (dut.queue.ready_head == (dut.queue.count != 0) && 32'(dut.queue.count) <= DEPTH);
      if (dut.waiting) assert (dut.busy && 32'(awlen) < BURST && awaddr % (BURST * BYTES) == 0);
    end
  end
endmodule
