// The AXI4-Lite slave: its channels, what it writes, and what it reads. The address map below is README section 4,
// written again.
module registers_rules
  import whorl_pkg::*;
(
    input logic clk,
    input logic rst_n,
    input logic awvalid,
    input logic [11:0] awaddr,
    input logic wvalid,
    input logic [31:0] wdata,
    input logic [3:0] wstrb,
    input logic bready,
    input logic arvalid,
    input logic [11:0] araddr,
    input logic rready,
    input logic busy,
    input logic done,
    input logic [4:0] error,
    input logic [COUNTERS-1:0][63:0] counters
);
  localparam int SHAPES = 18, WORDS = 38;
  localparam logic [SHAPES-1:0][31:0] SHAPE = {
    32'd1218, 32'd1217, 32'd1216, 32'd1215, 32'd1214, 32'd1213, 32'd1212, 32'd1211, 32'd1210, 32'd1209, 32'd1208, 32'd1207,
    32'd1206, 32'd1205, 32'd1204, 32'd1203, 32'd1202, 32'd1201};
  logic started, awready, wready, bvalid, arready, rvalid, start, abort, irq;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata;
  descriptor_t descriptor;
  registers #(.SHAPES(SHAPES), .SHAPE(SHAPE)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);
  stays #(.WIDTH(2)) b_stays (.clk, .rst_n, .valid(bvalid), .ready(bready), .data(bresp));
  stays #(.WIDTH(34)) r_stays (.clk, .rst_n, .valid(rvalid), .ready(rready), .data({rresp, rdata}));

  // Requests without their answers: one answer each.
  logic [3:0] addresses, words_owed, reads;
  always_ff @(posedge clk)
    if (!rst_n) begin
      addresses <= '0;
      words_owed <= '0;
      reads <= '0;
    end else begin
      addresses <= addresses + 4'(awvalid && awready) - 4'(bvalid && bready);
      words_owed <= words_owed + 4'(wvalid && wready) - 4'(bvalid && bready);
      reads <= reads + 4'(arvalid && arready) - 4'(rvalid && rready);
    end

  // Writes: the address and the word that wait, and what is written when both have come.
  logic got_address, got_word, writes;
  logic [11:0] address;
  logic [31:0] word, mask;
  logic [3:0] strobe;
  logic [WORDS-1:0][31:0] written;  // 0x080 … 0x117
  logic irq_enable;
  assign writes = got_address && got_word && (!bvalid || bready);
  assign mask = {{8{strobe[3]}}, {8{strobe[2]}}, {8{strobe[1]}}, {8{strobe[0]}}};
  always_ff @(posedge clk) begin
    if (awvalid && awready) address <= awaddr;
    if (wvalid && wready) begin
      word <= wdata;
      strobe <= wstrb;
    end
    if (!rst_n) begin
      got_address <= 0;
      got_word <= 0;
      written <= '0;
      irq_enable <= 0;
    end else begin
      got_address <= awvalid && awready || got_address && !writes;
      got_word <= wvalid && wready || got_word && !writes;
      if (writes && {address[11:2], 2'b00} == 12'h014 && strobe[0]) irq_enable <= word[0];
      if (writes && !busy && address >= 12'h080 && address < 12'h118)
        written[(int'(address)-'h80)/4] <= written[(int'(address)-'h80)/4] & ~mask | word & mask;
    end
  end

  // Reads.
  logic [31:0] value, expected;
  int at;
  assign at = int'({araddr[11:2], 2'b00});
  always_comb begin
    value = '0;
    if (at == 'h000) value = 32'h57484F52;
    if (at == 'h004) value = 32'h00010000;
    if (at == 'h00C) value = {29'd0, error != 0, done, busy};
    if (at == 'h010) value = 32'(error);
    if (at == 'h014) value = 32'(irq_enable);
    if (at >= 'h020 && at <= 'h064) value = SHAPE[(at-'h20)/4];
    if (at >= 'h080 && at < 'h118) value = written[(at-'h80)/4];
    if (at >= 'h180 && at < 'h180 + 8 * COUNTERS)
      value = at % 8 == 0 ? counters[(at-'h180)/8][31:0] : counters[(at-'h180)/8][63:32];
  end
  logic was_busy, resets;
  descriptor_t was;
  always_ff @(posedge clk) begin
    if (arvalid && arready) expected <= value;
    was_busy <= busy;
    resets <= !rst_n;
    was <= descriptor;
    if (started) begin
      assert (addresses == 4'(got_address) + 4'(bvalid) && words_owed == 4'(got_word) + 4'(bvalid));
      assert (reads == 4'(rvalid));
      assert (awready == !got_address && wready == !got_word);  // a master that waits for neither is not waited for
      if (bvalid) assert (bresp == 0);
      if (rvalid) assert (rresp == 0 && rdata == expected);
      assert (start == (writes && {address[11:2], 2'b00} == 12'h008 && strobe[0] && word[0] && !busy));
      assert (abort == (writes && {address[11:2], 2'b00} == 12'h008 && strobe[0] && word[1] && busy));
      assert (irq == (irq_enable && !busy && (done || error != 0)));
      if (was_busy && !resets) assert (descriptor == was);
      // The fields of the descriptor are where README has them.
      assert (descriptor.mode == written[0] && descriptor.group == written[1] && descriptor.n == written[2]);
      assert (descriptor.count == written[3] && descriptor.luts == written[4] && descriptor.offset == written[5]);
      assert (descriptor.constant == written[7:6] && descriptor.in_address == written[9:8]);
      assert (descriptor.lut_address == written[11:10] && descriptor.out_address == written[13:12]);
      assert (descriptor.ksk_address == written[15:14] && descriptor.bk_address == written[31:16]);
      assert (descriptor.io_bytes == written[33:32] && descriptor.ksk_bytes == written[35:34]);
      assert (descriptor.bk_bytes == written[37:36]);
      // What makes the induction go through.
      if (got_address) assert (dut.address == address[11:2]);
      if (got_word) assert (dut.word == word && dut.strobe == strobe);
      assert (dut.have_address == got_address && dut.have_word == got_word && dut.irq_enable == irq_enable);
    end
  end
endmodule
