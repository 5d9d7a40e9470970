// The registers of README section 4 behind AXI4-Lite.
// In: reads and writes; status, error code, counters. Out: the descriptor; start and abort for a cycle each. A read is
// answered in the cycle after its address, a write two cycles after both its address and its word have come.
// The descriptor keeps its value while `busy`.
module registers
  import whorl_pkg::*;
#(
    parameter int SHAPES = 18,
    parameter logic [SHAPES-1:0][31:0] SHAPE = '0  // what 0x020 … read
) (
    input  logic                       clk,
    input  logic                       rst_n,
    input  logic                       awvalid,
    output logic                       awready,
    input  logic [11:0]                awaddr,
    input  logic                       wvalid,
    output logic                       wready,
    input  logic [31:0]                wdata,
    input  logic [3:0]                 wstrb,
    output logic                       bvalid,
    input  logic                       bready,
    output logic [1:0]                 bresp,
    input  logic                       arvalid,
    output logic                       arready,
    input  logic [11:0]                araddr,
    output logic                       rvalid,
    input  logic                       rready,
    output logic [31:0]                rdata,
    output logic [1:0]                 rresp,
    output descriptor_t                descriptor,
    output logic                       start,
    output logic                       abort,
    input  logic                       busy,
    input  logic                       done,
    input  logic [4:0]                 error,
    input  logic [COUNTERS-1:0][63:0]  counters,
    output logic                       irq
);
  // Words 0x080 … 0x117 are the descriptor.
  localparam int FIRST = 'h20, WORDS = 'h26;
  logic [WORDS-1:0][31:0] words;
  logic irq_enable;

  // A write's address and word may come in any order.
  logic have_address, have_word;
  logic [9:0] address;
  logic [31:0] word;
  logic [3:0] strobe;
  logic write;
  assign awready = !have_address;
  assign wready = !have_word;
  assign write = have_address && have_word && (!bvalid || bready);
  assign bresp = 2'b00;
  assign rresp = 2'b00;
  assign start = write && address == 10'h002 && strobe[0] && word[0] && !busy;
  assign abort = write && address == 10'h002 && strobe[0] && word[1] && busy;
  always_ff @(posedge clk) begin
    if (awvalid && awready) address <= awaddr[11:2];
    if (wvalid && wready) begin
      word <= wdata;
      strobe <= wstrb;
    end
  end
  always_ff @(posedge clk)
    if (!rst_n) begin
      have_address <= 1'b0;
      have_word <= 1'b0;
      bvalid <= 1'b0;
      words <= '0;
      irq_enable <= 1'b0;
    end else begin
      if (bready) bvalid <= 1'b0;
      if (awvalid && awready) have_address <= 1'b1;
      if (wvalid && wready) have_word <= 1'b1;
      if (write) begin
        have_address <= 1'b0;
        have_word <= 1'b0;
        bvalid <= 1'b1;
        if (address == 10'h005 && strobe[0]) irq_enable <= word[0];
        for (int w = 0; w < WORDS; w++)
          if (!busy && address == 10'(FIRST + w))
            for (int b = 0; b < 4; b++) if (strobe[b]) words[w][8*b+:8] <= word[8*b+:8];
      end
    end

  logic [31:0] value;
  logic [9:0] asked;
  assign asked = araddr[11:2];
  always_comb begin
    value = '0;
    case (asked)
      10'h000: value = 32'h5748_4F52;
      10'h001: value = 32'h0001_0000;
      10'h003: value = {29'd0, error != OK, done, busy};
      10'h004: value = {27'd0, error};
      10'h005: value = {31'd0, irq_enable};
      default: begin
        for (int w = 0; w < SHAPES; w++) if (asked == 10'(8 + w)) value = SHAPE[w];
        for (int w = 0; w < WORDS; w++) if (asked == 10'(FIRST + w)) value = words[w];
        for (int c = 0; c < COUNTERS; c++) begin
          if (asked == 10'('h60 + 2 * c)) value = counters[c][31:0];
          if (asked == 10'('h61 + 2 * c)) value = counters[c][63:32];
        end
      end
    endcase
  end
  assign arready = !rvalid || rready;
  always_ff @(posedge clk)
    if (!rst_n) rvalid <= 1'b0;
    else if (arvalid && arready) rvalid <= 1'b1;
    else if (rready) rvalid <= 1'b0;
  always_ff @(posedge clk) if (arvalid && arready) rdata <= value;

  assign irq = irq_enable && !busy && (done || error != OK);
  always_comb begin
    descriptor.mode = words[0];
    descriptor.group = words[1];
    descriptor.n = words[2];
    descriptor.count = words[3];
    descriptor.luts = words[4];
    descriptor.offset = words[5];
    descriptor.constant = {words[7], words[6]};
    descriptor.in_address = {words[9], words[8]};
    descriptor.lut_address = {words[11], words[10]};
    descriptor.out_address = {words[13], words[12]};
    descriptor.ksk_address = {words[15], words[14]};
    for (int s = 0; s < 8; s++) descriptor.bk_address[s] = {words[17+2*s], words[16+2*s]};
    descriptor.io_bytes = {words[33], words[32]};
    descriptor.ksk_bytes = {words[35], words[34]};
    descriptor.bk_bytes = {words[37], words[36]};
  end
  logic unused;
  assign unused = ^{awaddr[1:0], araddr[1:0]};
endmodule
