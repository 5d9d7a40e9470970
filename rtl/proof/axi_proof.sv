// The masters of the memory ports. The memory answers only what was asked; it may stall and answer as it likes.
// Proved by induction from reset on. The data lie in a
// stream_fifo, which has a proof of its own.
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
  logic started, command_ready, out_valid, idle, error, beat, arvalid, rready;
  logic [DATA_BITS-1:0] out_data;
  logic [63:0] araddr;
  logic [7:0] arlen;
  axi_reader #(.DATA_BITS(DATA_BITS), .QUEUE_BURSTS(QUEUE_BURSTS)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);
  stays #(.WIDTH(72)) ar_stays (.clk, .rst_n, .valid(arvalid), .ready(arready), .data({araddr, arlen}));
  stays out_stays (.clk, .rst_n, .valid(out_valid), .ready(out_ready), .data(1'b0));
  logic [11:0] owed;      // beats that the memory owes
  logic [11:0] in_queue;  // and those that have come, and have not left
  logic [63:0] next;      // the first byte of the command's that was not asked for
  logic [39:0] rest;      // its beats
  logic asks;             // a burst is asked for: it is on the channel in the next cycle
  logic asked;            // it was asked for in the last cycle:
  logic [63:0] asked_at;
  logic [8:0] asked_beats;
  logic flushed;          // since the reset
  assign asks = dut.ask;
  always_ff @(posedge clk) begin
    if (command_valid) assume (command_beats != 0 && command_address % BYTES == 0);
    if (started && rvalid) assume (owed != 0);
    owed <= !rst_n ? '0 : owed + (arvalid && arready ? 12'(arlen) + 12'd1 : 12'd0) - 12'(rvalid);
    in_queue <= !rst_n ? '0 : in_queue + 12'(rvalid && !flush) - 12'(out_valid && out_ready);
    asked <= rst_n && asks;
    asked_at <= next;
    asked_beats <= 9'(dut.length);
    flushed <= rst_n && (flushed || flush);
    if (!rst_n) rest <= '0;
    else if (command_valid && command_ready) begin
      next <= command_address;
      rest <= command_beats;
    end else if (asks) begin
      next <= next + 64'(dut.length) * BYTES;
      rest <= rest - 40'(dut.length);
    end
    if (started) begin
      if (arvalid) begin
        assert (32'(arlen) < BURST && araddr % BYTES == 0);
        assert (araddr[63:12] == 52'((araddr + 64'(arlen) * BYTES) >> 12));
      end
      // Bursts of a command follow each other, and end where it ends.
      assert (command_ready == (rest == 0));
      if (asked) assert (arvalid && araddr == asked_at && 9'(arlen) + 9'd1 == asked_beats);
      if (asks) assert (40'(dut.length) <= rest && dut.length != 0);
      if (rvalid) assert (rready && beat);
      if (rvalid && !flush) assert (dut.in_ready);  // the queue has room
      assert (idle == (owed == 0 && !arvalid));
      assert (error == (rvalid && rresp != 0));
      // Nothing waits for room that is there: the beats that are left fit, and are asked for.
      if (!flushed && dut.busy && in_queue == 0 && owed == 0 && !arvalid) assert (flush || dut.ask);
      // What makes the induction go through.
      assert (32'(owed) <= DEPTH && 12'(dut.outstanding) == owed + (arvalid ? 12'(arlen) + 12'd1 : 12'd0));
      assert (12'(dut.outstanding) + in_queue <= 12'(dut.reserved) && 12'(dut.reserved) <= 12'(DEPTH));
      if (!flushed) assert (12'(dut.outstanding) + in_queue == 12'(dut.reserved));
      assert (12'(dut.queue.count) == in_queue && dut.queue.ready_head == (in_queue != 0));
      assert (dut.busy == (rest != 0));
      if (dut.busy) assert (dut.left == rest && dut.address == next && dut.address % BYTES == 0);
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
  logic started, in_ready, idle, done, error, beat, awvalid, wvalid, wlast, bready;
  logic [63:0] awaddr;
  logic [7:0] awlen;
  logic [DATA_BITS-1:0] wdata;
  axi_writer #(.DATA_BITS(DATA_BITS), .QUEUE_BURSTS(QUEUE_BURSTS)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);
  stays #(.WIDTH(72)) aw_stays (.clk, .rst_n, .valid(awvalid), .ready(awready), .data({awaddr, awlen}));
  stays w_stays (.clk, .rst_n, .valid(wvalid), .ready(wready), .data(wlast));
  logic [7:0] sent;    // beats of the burst that were sent
  logic runs;          // a region is written
  logic [63:0] next;   // the first byte of it that no burst has
  logic [39:0] rest;   // its beats
  logic begun;         // a burst began in the last cycle:
  logic [63:0] begun_at;
  always_ff @(posedge clk) begin
    // One region at a time; an answer comes after the address and the last beat.
    if (command_valid) assume (!runs && command_address % 4096 == 0 && command_beats != 0);
    if (started && bvalid) assume (dut.waiting && !awvalid && !dut.writing);
    sent <= !rst_n || (beat && wlast) ? '0 : sent + 8'(beat);
    begun <= rst_n && dut.begins;
    begun_at <= next;
    if (!rst_n) begin
      runs <= 0;
      rest <= '0;
    end else if (command_valid) begin
      runs <= 1;
      next <= command_address;
      rest <= command_beats;
    end else begin
      if (done) runs <= 0;
      if (dut.begins) begin
        next <= next + BURST * BYTES;
        rest <= rest < BURST ? '0 : rest - 40'(BURST);
      end
    end
    if (started) begin
      if (awvalid) begin
        assert (32'(awlen) < BURST);
        assert (awaddr[63:12] == 52'((awaddr + 64'(awlen) * BYTES) >> 12));
      end
      // Bursts of a region follow each other, each as long as it may be.
      if (begun) assert (awvalid && awaddr == begun_at);
      if (dut.begins) assert (40'(dut.length) == (rest < BURST ? rest : 40'(BURST)) && rest != 0);
      if (wvalid) assert (wlast == (sent == awlen));
      if (dut.writing) assert (wvalid);  // a burst has no gaps
      assert (bready && error == (bvalid && bresp != 0));
      assert (done == (runs && rest == 0 && bvalid));  // the last answer
      // A burst begins as soon as its beats are there.
      if (runs && rest != 0 && idle && !flush && (40'(dut.queue.count) >= rest || 32'(dut.queue.count) >= BURST))
        assert (dut.begins);
      // What makes the induction go through.
      if (dut.writing) begin
        assert (dut.count != 0 && 9'(dut.count) + 9'(sent) == 9'(awlen) + 9'd1);
        assert (32'(dut.queue.count) >= 32'(dut.count));
      end else assert (sent == 0);
      if (dut.writing || awvalid) assert (dut.waiting);
      assert (dut.busy == runs);
      if (runs) assert (dut.address == next && dut.left == rest && next % (BURST * BYTES) == 0 && (rest != 0 || dut.waiting));
      assert (dut.queue.ready_head == (dut.queue.count != 0) && 32'(dut.queue.count) <= DEPTH);
      if (dut.waiting) assert (runs && 32'(awlen) < BURST && awaddr % (BURST * BYTES) == 0);
    end
  end
endmodule
