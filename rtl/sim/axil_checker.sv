// The rules of AXI4-Lite at the registers' port.
// In: all channels. Out: assertions, in the cycle of the offence or the next.
module axil_checker (
    input logic        clk,
    input logic        rst_n,
    input logic        awvalid,
    input logic        awready,
    input logic [11:0] awaddr,
    input logic        wvalid,
    input logic        wready,
    input logic [31:0] wdata,
    input logic [3:0]  wstrb,
    input logic        bvalid,
    input logic        bready,
    input logic [1:0]  bresp,
    input logic        arvalid,
    input logic        arready,
    input logic [11:0] araddr,
    input logic        rvalid,
    input logic        rready,
    input logic [31:0] rdata,
    input logic [1:0]  rresp
);
  axi_channel_checker #(.WIDTH(12)) aw_stays (
      .clk, .rst_n, .valid(awvalid), .ready(awready), .payload(awaddr));
  axi_channel_checker #(.WIDTH(36)) w_stays (
      .clk, .rst_n, .valid(wvalid), .ready(wready), .payload({wdata, wstrb}));
  axi_channel_checker #(.WIDTH(2)) b_stays (
      .clk, .rst_n, .valid(bvalid), .ready(bready), .payload(bresp));
  axi_channel_checker #(.WIDTH(12)) ar_stays (
      .clk, .rst_n, .valid(arvalid), .ready(arready), .payload(araddr));
  axi_channel_checker #(.WIDTH(34)) r_stays (
      .clk, .rst_n, .valid(rvalid), .ready(rready), .payload({rdata, rresp}));

  // Addresses, words and reads that were taken and not answered.
  logic [7:0] addresses, words, reads;
  always_ff @(posedge clk)
    if (!rst_n) begin
      addresses <= '0;
      words <= '0;
      reads <= '0;
    end else begin
      addresses <= addresses + 8'(awvalid && awready) - 8'(bvalid && bready);
      words <= words + 8'(wvalid && wready) - 8'(bvalid && bready);
      reads <= reads + 8'(arvalid && arready) - 8'(rvalid && rready);
    end
  always_ff @(posedge clk)
    if (rst_n) begin
      if (bvalid) begin
        assert (addresses != '0 && words != '0) else $error("an answer without a write");
      end
      if (rvalid) assert (reads != '0) else $error("an answer without a read");
    end
endmodule
