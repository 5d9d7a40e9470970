// The rules of AXI4 at a memory port, and those that this core adds: one identifier, full beats, addresses that are
// multiples of a beat, answers in order, one burst of writes at a time, whose data come no earlier than its address.
// In: all channels of the port; without WRITES the last three are not looked at. Out: assertions, in the cycle of the
// offence or the next. With ASSUMED the rules for the memory are assumptions, for proofs.
module axi_checker #(
    parameter int DATA_BITS = 64,
    parameter bit WRITES = 1,
    parameter int OUTSTANDING = 512,  // bursts of reads that are under way at most, a power of two
    parameter bit ASSUMED = 0
) (
    input logic                   clk,
    input logic                   rst_n,
    input logic                   arvalid,
    input logic                   arready,
    input logic [63:0]            araddr,
    input logic [7:0]             arlen,
    input logic [2:0]             arsize,
    input logic [1:0]             arburst,
    input logic                   rvalid,
    input logic                   rready,
    input logic [DATA_BITS-1:0]   rdata,
    input logic [1:0]             rresp,
    input logic                   rlast,
    input logic                   awvalid,
    input logic                   awready,
    input logic [63:0]            awaddr,
    input logic [7:0]             awlen,
    input logic [2:0]             awsize,
    input logic [1:0]             awburst,
    input logic                   wvalid,
    input logic                   wready,
    input logic [DATA_BITS-1:0]   wdata,
    input logic [DATA_BITS/8-1:0] wstrb,
    input logic                   wlast,
    input logic                   bvalid,
    input logic                   bready,
    input logic [1:0]             bresp
);
  localparam int BYTES = DATA_BITS / 8, LOW = $clog2(BYTES), OW = $clog2(OUTSTANDING);

  // An INCR burst of full beats that ends in the 4 KB in which it begins.
  function automatic logic well_formed(logic [11:0] address, logic [7:0] length, logic [2:0] size,
                                       logic [1:0] burst);
    return burst == 2'b01 && size == 3'(LOW) && address[LOW-1:0] == '0
           && 32'(address) + (32'(length) + 32'd1) * 32'(BYTES) <= 32'd4096;
  endfunction

  // ---- reads
  axi_channel_checker #(.WIDTH(77)) ar_stays (
      .clk, .rst_n, .valid(arvalid), .ready(arready), .payload({araddr, arlen, arsize, arburst}));
  axi_channel_checker #(.WIDTH(DATA_BITS + 3), .ASSUMED(ASSUMED)) r_stays (
      .clk, .rst_n, .valid(rvalid), .ready(rready), .payload({rdata, rresp, rlast}));
  logic [7:0] lengths[OUTSTANDING];
  logic [OW-1:0] put_at, take_at;
  logic [OW:0] asked;   // bursts whose last beat did not come
  logic [7:0] came;     // beats of the oldest
  logic r_rule;
  assign r_rule = asked != '0 && rlast == (came == lengths[take_at]);
  always_ff @(posedge clk)
    if (arvalid && arready) lengths[put_at] <= arlen;
  always_ff @(posedge clk)
    if (!rst_n) begin
      put_at <= '0;
      take_at <= '0;
      asked <= '0;
      came <= '0;
    end else begin
      if (arvalid && arready) put_at <= put_at + 1'b1;
      if (rvalid && rready) begin
        came <= rlast ? '0 : came + 1'b1;
        if (rlast) take_at <= take_at + 1'b1;
      end
      asked <= asked + (OW + 1)'(arvalid && arready) - (OW + 1)'(rvalid && rready && rlast);
    end
  always_ff @(posedge clk)
    if (rst_n && arvalid) begin
      assert (well_formed(araddr[11:0], arlen, arsize, arburst))
      else $error("a burst of reads is not well formed");
      assert (asked != (OW + 1)'(OUTSTANDING))
      else $error("too many bursts of reads for the checker");
    end

  // ---- writes
  logic b_rule;
  if (WRITES) begin : g_writes
    axi_channel_checker #(.WIDTH(77)) aw_stays (
        .clk, .rst_n, .valid(awvalid), .ready(awready), .payload({awaddr, awlen, awsize, awburst}));
    axi_channel_checker #(.WIDTH(DATA_BITS + BYTES + 1)) w_stays (
        .clk, .rst_n, .valid(wvalid), .ready(wready), .payload({wdata, wstrb, wlast}));
    axi_channel_checker #(.WIDTH(2), .ASSUMED(ASSUMED)) b_stays (
        .clk, .rst_n, .valid(bvalid), .ready(bready), .payload(bresp));
    logic offered, taken, ended;  // the burst's address, and again; its last beat was taken
    logic [7:0] length, length_offered, sent;
    assign length = awvalid ? awlen : length_offered;
    assign b_rule = taken && ended;
    always_ff @(posedge clk) if (awvalid) length_offered <= awlen;
    always_ff @(posedge clk)
      if (!rst_n || (bvalid && bready)) begin
        offered <= 1'b0;
        taken <= 1'b0;
        ended <= 1'b0;
        sent <= '0;
      end else begin
        if (awvalid) offered <= 1'b1;
        if (awvalid && awready) taken <= 1'b1;
        if (wvalid && wready) begin
          sent <= sent + 1'b1;
          if (wlast) ended <= 1'b1;
        end
      end
    always_ff @(posedge clk)
      if (rst_n) begin
        if (awvalid) begin
          assert (well_formed(awaddr[11:0], awlen, awsize, awburst))
          else $error("a burst of writes is not well formed");
          assert (!taken) else $error("a second burst of writes before the first is answered");
        end
        if (wvalid) begin
          assert ((awvalid || offered) && !ended) else $error("data of writes without an address");
          assert (wlast == (sent == length)) else $error("wlast at the wrong beat");
          assert (&wstrb) else $error("a beat of writes that is not full");
        end
      end
  end else begin : g_reads_only
    assign b_rule = 1'b1;
    logic unused;
    assign unused = ^{awvalid, awready, awaddr, awlen, awsize, awburst, wvalid, wready, wdata,
                      wstrb, wlast, bready, bresp};
  end

  // ---- the memory's part
  if (ASSUMED) begin : g_assumed
    always_ff @(posedge clk)
      if (rst_n) begin
        if (rvalid) assume (r_rule);
        if (bvalid) assume (b_rule);
      end
  end else begin : g_asserted
    always_ff @(posedge clk)
      if (rst_n) begin
        if (rvalid) assert (r_rule)
        else $error("an answer that was not asked for, or rlast at the wrong beat");
        if (bvalid) assert (b_rule) else $error("an answer to writes that are not complete");
      end
  end
endmodule
