// Watches all ports of the core. It is bound to whorl_core: whoever compiles this file has the assertions.
// In: the core's ports. Out: the assertions of axil_checker and axi_checker, and: no port offers anything in
// the first cycle after a reset of two cycles or more.
module core_checker #(
    parameter int MEM_BITS = 512,
    parameter int BK_PORTS = 1,
    parameter int KSK_BITS = 512
) (
    input logic                              aclk,
    input logic                              aresetn,
    input logic                              s_axil_awvalid,
    input logic                              s_axil_awready,
    input logic [11:0]                       s_axil_awaddr,
    input logic                              s_axil_wvalid,
    input logic                              s_axil_wready,
    input logic [31:0]                       s_axil_wdata,
    input logic [3:0]                        s_axil_wstrb,
    input logic                              s_axil_bvalid,
    input logic                              s_axil_bready,
    input logic [1:0]                        s_axil_bresp,
    input logic                              s_axil_arvalid,
    input logic                              s_axil_arready,
    input logic [11:0]                       s_axil_araddr,
    input logic                              s_axil_rvalid,
    input logic                              s_axil_rready,
    input logic [31:0]                       s_axil_rdata,
    input logic [1:0]                        s_axil_rresp,
    input logic [BK_PORTS-1:0]               m_axi_bk_arvalid,
    input logic [BK_PORTS-1:0]               m_axi_bk_arready,
    input logic [BK_PORTS-1:0][63:0]         m_axi_bk_araddr,
    input logic [BK_PORTS-1:0][7:0]          m_axi_bk_arlen,
    input logic [BK_PORTS-1:0][2:0]          m_axi_bk_arsize,
    input logic [BK_PORTS-1:0][1:0]          m_axi_bk_arburst,
    input logic [BK_PORTS-1:0]               m_axi_bk_rvalid,
    input logic [BK_PORTS-1:0]               m_axi_bk_rready,
    input logic [BK_PORTS-1:0][MEM_BITS-1:0] m_axi_bk_rdata,
    input logic [BK_PORTS-1:0][1:0]          m_axi_bk_rresp,
    input logic [BK_PORTS-1:0]               m_axi_bk_rlast,
    input logic                              m_axi_ksk_arvalid,
    input logic                              m_axi_ksk_arready,
    input logic [63:0]                       m_axi_ksk_araddr,
    input logic [7:0]                        m_axi_ksk_arlen,
    input logic [2:0]                        m_axi_ksk_arsize,
    input logic [1:0]                        m_axi_ksk_arburst,
    input logic                              m_axi_ksk_rvalid,
    input logic                              m_axi_ksk_rready,
    input logic [KSK_BITS-1:0]               m_axi_ksk_rdata,
    input logic [1:0]                        m_axi_ksk_rresp,
    input logic                              m_axi_ksk_rlast,
    input logic                              m_axi_io_arvalid,
    input logic                              m_axi_io_arready,
    input logic [63:0]                       m_axi_io_araddr,
    input logic [7:0]                        m_axi_io_arlen,
    input logic [2:0]                        m_axi_io_arsize,
    input logic [1:0]                        m_axi_io_arburst,
    input logic                              m_axi_io_rvalid,
    input logic                              m_axi_io_rready,
    input logic [MEM_BITS-1:0]               m_axi_io_rdata,
    input logic [1:0]                        m_axi_io_rresp,
    input logic                              m_axi_io_rlast,
    input logic                              m_axi_io_awvalid,
    input logic                              m_axi_io_awready,
    input logic [63:0]                       m_axi_io_awaddr,
    input logic [7:0]                        m_axi_io_awlen,
    input logic [2:0]                        m_axi_io_awsize,
    input logic [1:0]                        m_axi_io_awburst,
    input logic                              m_axi_io_wvalid,
    input logic                              m_axi_io_wready,
    input logic [MEM_BITS-1:0]               m_axi_io_wdata,
    input logic [MEM_BITS/8-1:0]             m_axi_io_wstrb,
    input logic                              m_axi_io_wlast,
    input logic                              m_axi_io_bvalid,
    input logic                              m_axi_io_bready,
    input logic [1:0]                        m_axi_io_bresp
);
  axil_checker registers (
      .clk(aclk), .rst_n(aresetn), .awvalid(s_axil_awvalid), .awready(s_axil_awready),
      .awaddr(s_axil_awaddr), .wvalid(s_axil_wvalid), .wready(s_axil_wready), .wdata(s_axil_wdata),
      .wstrb(s_axil_wstrb), .bvalid(s_axil_bvalid), .bready(s_axil_bready), .bresp(s_axil_bresp),
      .arvalid(s_axil_arvalid), .arready(s_axil_arready), .araddr(s_axil_araddr),
      .rvalid(s_axil_rvalid), .rready(s_axil_rready), .rdata(s_axil_rdata), .rresp(s_axil_rresp));
  for (genvar s = 0; s < BK_PORTS; s++) begin : g_bk
    axi_checker #(.DATA_BITS(MEM_BITS), .WRITES(0)) port (
        .clk(aclk), .rst_n(aresetn), .arvalid(m_axi_bk_arvalid[s]), .arready(m_axi_bk_arready[s]),
        .araddr(m_axi_bk_araddr[s]), .arlen(m_axi_bk_arlen[s]), .arsize(m_axi_bk_arsize[s]),
        .arburst(m_axi_bk_arburst[s]), .rvalid(m_axi_bk_rvalid[s]), .rready(m_axi_bk_rready[s]),
        .rdata(m_axi_bk_rdata[s]), .rresp(m_axi_bk_rresp[s]), .rlast(m_axi_bk_rlast[s]),
        .awvalid('0), .awready('0), .awaddr('0), .awlen('0), .awsize('0), .awburst('0),
        .wvalid('0), .wready('0), .wdata('0), .wstrb('0), .wlast('0), .bvalid('0), .bready('0),
        .bresp('0));
  end
  axi_checker #(.DATA_BITS(KSK_BITS), .WRITES(0)) ksk (
      .clk(aclk), .rst_n(aresetn), .arvalid(m_axi_ksk_arvalid), .arready(m_axi_ksk_arready),
      .araddr(m_axi_ksk_araddr), .arlen(m_axi_ksk_arlen), .arsize(m_axi_ksk_arsize),
      .arburst(m_axi_ksk_arburst), .rvalid(m_axi_ksk_rvalid), .rready(m_axi_ksk_rready),
      .rdata(m_axi_ksk_rdata), .rresp(m_axi_ksk_rresp), .rlast(m_axi_ksk_rlast), .awvalid('0),
      .awready('0), .awaddr('0), .awlen('0), .awsize('0), .awburst('0), .wvalid('0), .wready('0),
      .wdata('0), .wstrb('0), .wlast('0), .bvalid('0), .bready('0), .bresp('0));
  axi_checker #(.DATA_BITS(MEM_BITS)) io (
      .clk(aclk), .rst_n(aresetn), .arvalid(m_axi_io_arvalid), .arready(m_axi_io_arready),
      .araddr(m_axi_io_araddr), .arlen(m_axi_io_arlen), .arsize(m_axi_io_arsize),
      .arburst(m_axi_io_arburst), .rvalid(m_axi_io_rvalid), .rready(m_axi_io_rready),
      .rdata(m_axi_io_rdata), .rresp(m_axi_io_rresp), .rlast(m_axi_io_rlast),
      .awvalid(m_axi_io_awvalid), .awready(m_axi_io_awready), .awaddr(m_axi_io_awaddr),
      .awlen(m_axi_io_awlen), .awsize(m_axi_io_awsize), .awburst(m_axi_io_awburst),
      .wvalid(m_axi_io_wvalid), .wready(m_axi_io_wready), .wdata(m_axi_io_wdata),
      .wstrb(m_axi_io_wstrb), .wlast(m_axi_io_wlast), .bvalid(m_axi_io_bvalid),
      .bready(m_axi_io_bready), .bresp(m_axi_io_bresp));

  logic [1:0] was_reset;
  always_ff @(posedge aclk) was_reset <= aresetn ? '0 : {was_reset[0], 1'b1};
  always_ff @(posedge aclk)
    if (aresetn && &was_reset)
      assert ({m_axi_bk_arvalid, m_axi_ksk_arvalid, m_axi_io_arvalid, m_axi_io_awvalid,
               m_axi_io_wvalid, s_axil_bvalid, s_axil_rvalid} == '0)
      else $error("a port offers something at the end of a reset");
endmodule

bind whorl_core core_checker #(.MEM_BITS(MEM_BITS), .BK_PORTS(BK_PORTS), .KSK_BITS(KSK_BITS)) protocol (.*);
