// The accelerator: bootstraps batches of LWE ciphertexts. README.md has its interface.
// In: register writes at `s_axil`; memory images behind the ports `m_axi_bk` (BK_PORTS of them), `m_axi_ksk` and
// `m_axi_io`. Out: results behind `m_axi_io`; counters; irq. README section 6 says how many cycles all this takes.
module whorl_core
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int L = 2,
    parameter int LOG_BG = 10,
    parameter int M = 2,
    parameter int PES = 1,
    parameter int LOG_B = 0,
    parameter int K = 3,
    parameter int MAX_N_LWE = 500,
    parameter int L_KS = 8,
    parameter int LOG_BKS = 2,
    parameter int KS_LANES = 512,
    parameter int MEM_BITS = 512,
    parameter int BK_PORTS = 1,
    parameter int KSK_BITS = 512,
    parameter int BK_BUFFERS = 4,
    parameter int KSK_ROWS = 2
) (
    input  logic                              aclk,
    input  logic                              aresetn,
    output logic                              irq,

    input  logic                              s_axil_awvalid,
    output logic                              s_axil_awready,
    input  logic [11:0]                       s_axil_awaddr,
    input  logic [2:0]                        s_axil_awprot,
    input  logic                              s_axil_wvalid,
    output logic                              s_axil_wready,
    input  logic [31:0]                       s_axil_wdata,
    input  logic [3:0]                        s_axil_wstrb,
    output logic                              s_axil_bvalid,
    input  logic                              s_axil_bready,
    output logic [1:0]                        s_axil_bresp,
    input  logic                              s_axil_arvalid,
    output logic                              s_axil_arready,
    input  logic [11:0]                       s_axil_araddr,
    input  logic [2:0]                        s_axil_arprot,
    output logic                              s_axil_rvalid,
    input  logic                              s_axil_rready,
    output logic [31:0]                       s_axil_rdata,
    output logic [1:0]                        s_axil_rresp,

    output logic [BK_PORTS-1:0]               m_axi_bk_arvalid,
    input  logic [BK_PORTS-1:0]               m_axi_bk_arready,
    output logic [BK_PORTS-1:0][63:0]         m_axi_bk_araddr,
    output logic [BK_PORTS-1:0][7:0]          m_axi_bk_arlen,
    output logic [BK_PORTS-1:0][2:0]          m_axi_bk_arsize,
    output logic [BK_PORTS-1:0][1:0]          m_axi_bk_arburst,
    input  logic [BK_PORTS-1:0]               m_axi_bk_rvalid,
    output logic [BK_PORTS-1:0]               m_axi_bk_rready,
    input  logic [BK_PORTS-1:0][MEM_BITS-1:0] m_axi_bk_rdata,
    input  logic [BK_PORTS-1:0][1:0]          m_axi_bk_rresp,
    input  logic [BK_PORTS-1:0]               m_axi_bk_rlast,

    output logic                              m_axi_ksk_arvalid,
    input  logic                              m_axi_ksk_arready,
    output logic [63:0]                       m_axi_ksk_araddr,
    output logic [7:0]                        m_axi_ksk_arlen,
    output logic [2:0]                        m_axi_ksk_arsize,
    output logic [1:0]                        m_axi_ksk_arburst,
    input  logic                              m_axi_ksk_rvalid,
    output logic                              m_axi_ksk_rready,
    input  logic [KSK_BITS-1:0]               m_axi_ksk_rdata,
    input  logic [1:0]                        m_axi_ksk_rresp,
    input  logic                              m_axi_ksk_rlast,

    output logic                              m_axi_io_arvalid,
    input  logic                              m_axi_io_arready,
    output logic [63:0]                       m_axi_io_araddr,
    output logic [7:0]                        m_axi_io_arlen,
    output logic [2:0]                        m_axi_io_arsize,
    output logic [1:0]                        m_axi_io_arburst,
    input  logic                              m_axi_io_rvalid,
    output logic                              m_axi_io_rready,
    input  logic [MEM_BITS-1:0]               m_axi_io_rdata,
    input  logic [1:0]                        m_axi_io_rresp,
    input  logic                              m_axi_io_rlast,
    output logic                              m_axi_io_awvalid,
    input  logic                              m_axi_io_awready,
    output logic [63:0]                       m_axi_io_awaddr,
    output logic [7:0]                        m_axi_io_awlen,
    output logic [2:0]                        m_axi_io_awsize,
    output logic [1:0]                        m_axi_io_awburst,
    output logic                              m_axi_io_wvalid,
    input  logic                              m_axi_io_wready,
    output logic [MEM_BITS-1:0]               m_axi_io_wdata,
    output logic [MEM_BITS/8-1:0]             m_axi_io_wstrb,
    output logic                              m_axi_io_wlast,
    input  logic                              m_axi_io_bvalid,
    output logic                              m_axi_io_bready,
    input  logic [1:0]                        m_axi_io_bresp
);
  localparam int B = 1 << LOG_B, LANES = 2 * B, LOG_ROWS = LOG_N - 1 - LOG_B;
  localparam int SETS = (1 << M) - 1, U = SETS * 4 * L * LANES;
  localparam int US = (U + BK_PORTS - 1) / BK_PORTS;  // words of a row at a port
  localparam int WIDE = MEM_BITS / 32, UW = (US + WIDE - 1) / WIDE * WIDE;
  localparam int CHUNK_BEATS = (1 << LOG_ROWS) * UW / MEM_BITS * 33;
  localparam int MAX_STEPS = (MAX_N_LWE + M - 1) / M;
  localparam int LOG_STEPS = MAX_STEPS > 1 ? $clog2(MAX_STEPS) : 1;
  localparam int KW = K > 1 ? $clog2(K) : 1, AW = $clog2(K << LOG_ROWS);
  localparam int EW = 1 + KW + LOG_STEPS, BW = $clog2(BK_BUFFERS);
  localparam int CAPACITY = PES * K, CW = $clog2(CAPACITY + 1);

  // Whether x is a power of two from least to most.
  function automatic logic power(input int x, input int least, input int most);
    return x >= least && x <= most && (x & (x - 1)) == 0;
  endfunction
  if (LOG_N < 6 || LOG_N > 13 || LOG_B < 0 || LOG_ROWS < 5 || M < 1 || M > 4) begin : g_wrong_shape
    $error("LOG_N = %0d is not in 6 to 13, N/2B is below 32 with LOG_B = %0d, or M = %0d is not in 1 to 4",
           LOG_N, LOG_B, M);
  end
  if (L < 1 || LOG_BG < 1 || L * LOG_BG > 33 || L_KS < 1 || LOG_BKS < 1 || L_KS * LOG_BKS > 32)
  begin : g_wrong_digits
    $error("L*LOG_BG = %0d*%0d is not in 1 to 33, or L_KS*LOG_BKS = %0d*%0d not in 1 to 32", L, LOG_BG, L_KS,
           LOG_BKS);
  end
  if (PES < 1 || K < 1 || MAX_N_LWE < 1 || MAX_N_LWE > 65535) begin : g_wrong_batch
    $error("PES = %0d or K = %0d is below 1, or MAX_N_LWE = %0d is not in 1 to 65535", PES, K, MAX_N_LWE);
  end
  if (!power(MEM_BITS, 64, 1024) || !power(KSK_BITS, 64, 1024)) begin : g_wrong_ports
    $error("MEM_BITS = %0d or KSK_BITS = %0d is no power of two in 64 to 1024", MEM_BITS, KSK_BITS);
  end
  if (!power(BK_BUFFERS, 2, 1 << 30) || BK_PORTS < 1 || BK_PORTS > 8) begin : g_wrong_key
    $error("BK_BUFFERS = %0d is no power of two from 2 on, or BK_PORTS = %0d is not in 1 to 8", BK_BUFFERS,
           BK_PORTS);
  end
  if (KSK_ROWS < 2) begin : g_wrong_rows
    $error("KSK_ROWS = %0d is below 2", KSK_ROWS);
  end
  if (KS_LANES < 1 || KS_LANES % (KSK_BITS / 32) != 0 || KS_LANES % WIDE != 0) begin : g_wrong_lanes
    $error("KS_LANES = %0d is not a multiple of the words of a beat", KS_LANES);
  end

  // ---- registers and control
  descriptor_t d;
  logic start, abort, busy, done, launch, runs, halt, clear_n, results_done, quiet, read_error;
  logic write_error;
  logic [4:0] error, loader_error;
  logic [LOG_STEPS:0] steps;
  logic [39:0] record_beats, result_beats, ksk_beats, bk_beats;
  logic [COUNTERS-1:0][63:0] counters;
  localparam int SHAPES = 18;
  localparam logic [SHAPES-1:0][31:0] SHAPE = {
    32'(KSK_ROWS), 32'(lat_wb(LOG_N, LOG_B, L)), 32'(lat_bku(LOG_N, LOG_B, M)), 32'(BK_BUFFERS), 32'(KS_LANES),
    32'(LOG_BKS), 32'(L_KS), 32'(MAX_N_LWE), 32'(KSK_BITS), 32'(BK_PORTS), 32'(MEM_BITS), 32'(K),
    32'(LOG_B), 32'(PES), 32'(M), 32'(LOG_BG), 32'(L), 32'(LOG_N)};
  registers #(.SHAPES(SHAPES), .SHAPE(SHAPE)) register_file (
      .clk(aclk), .rst_n(aresetn), .awvalid(s_axil_awvalid), .awready(s_axil_awready),
      .awaddr(s_axil_awaddr), .wvalid(s_axil_wvalid), .wready(s_axil_wready), .wdata(s_axil_wdata),
      .wstrb(s_axil_wstrb), .bvalid(s_axil_bvalid), .bready(s_axil_bready), .bresp(s_axil_bresp),
      .arvalid(s_axil_arvalid), .arready(s_axil_arready), .araddr(s_axil_araddr),
      .rvalid(s_axil_rvalid), .rready(s_axil_rready), .rdata(s_axil_rdata), .rresp(s_axil_rresp),
      .descriptor(d), .start, .abort, .busy, .done, .error, .counters, .irq);
  control #(
      .LOG_N(LOG_N), .M(M), .MAX_N_LWE(MAX_N_LWE), .L_KS(L_KS), .BK_PORTS(BK_PORTS),
      .MEM_BITS(MEM_BITS), .KSK_BITS(KSK_BITS), .CHUNK_BEATS(CHUNK_BEATS), .LOG_STEPS(LOG_STEPS)
  ) run (
      .clk(aclk), .rst_n(aresetn), .start, .abort, .descriptor(d), .loader_error, .read_error,
      .write_error, .results_done, .quiet, .busy, .done, .error, .launch, .runs, .halt, .clear_n,
      .steps, .record_beats, .result_beats, .ksk_beats, .bk_beats);
  logic rotates, switches, extracts;
  assign rotates = d.mode[1:0] != 2'd2;
  assign switches = d.mode[1:0] != 2'd1;
  assign extracts = d.mode[1:0] == 2'd1;

  // ---- the bootstrapping key: a pass a batch, from all ports
  logic [BK_PORTS-1:0] bk_idle, bk_error, bk_beat, bk_ready;
  logic chunk_ready, acquire, release_chunk, key_valid;
  logic [BW+LOG_ROWS-1:0] key_address;
  logic [BK_PORTS-1:0][US-1:0][32:0] key_parts;
  logic [SETS-1:0][4*L-1:0][LANES-1:0][32:0] key;
  assign chunk_ready = &bk_ready;
  for (genvar s = 0; s < BK_PORTS; s++) begin : g_bk
    logic [31:0] left;
    logic command_ready, beat_valid, beat_ready;
    logic [MEM_BITS-1:0] beat_data;
    always_ff @(posedge aclk)
      if (!clear_n) left <= '0;
      else if (launch && rotates) left <= d.count;
      else if (left != '0 && command_ready)
        left <= left > 32'(CAPACITY) ? left - 32'(CAPACITY) : '0;
    axi_reader #(.DATA_BITS(MEM_BITS)) reader (
        .clk(aclk), .rst_n(clear_n), .command_valid(left != '0), .command_ready,
        .command_address(d.bk_address[s]), .command_beats(bk_beats), .out_valid(beat_valid),
        .out_ready(beat_ready), .out_data(beat_data), .flush(halt), .idle(bk_idle[s]),
        .error(bk_error[s]), .beat(bk_beat[s]), .arvalid(m_axi_bk_arvalid[s]),
        .arready(m_axi_bk_arready[s]), .araddr(m_axi_bk_araddr[s]), .arlen(m_axi_bk_arlen[s]),
        .rvalid(m_axi_bk_rvalid[s]), .rready(m_axi_bk_rready[s]), .rdata(m_axi_bk_rdata[s]),
        .rresp(m_axi_bk_rresp[s]));
    chunk_buffer #(
        .LOG_ROWS(LOG_ROWS), .WORDS(US), .DATA_BITS(MEM_BITS), .BUFFERS(BK_BUFFERS)
    ) chunks (
        .clk(aclk), .rst_n(clear_n), .in_valid(beat_valid), .in_ready(beat_ready),
        .in_data(beat_data), .ready(bk_ready[s]), .acquire, .release_chunk,
        .read_address(key_address), .row(key_parts[s]));
    assign m_axi_bk_arsize[s] = 3'($clog2(MEM_BITS / 8));
    assign m_axi_bk_arburst[s] = 2'b01;
  end
  // Ports' parts follow each other; the last may be padded.
  if (BK_PORTS * US == U) begin : g_exact
    assign key = key_parts;
  end else begin : g_padded
    logic [BK_PORTS*US*33-1:0] all_parts;
    logic unused_padding;
    assign all_parts = key_parts;
    assign key = all_parts[U*33-1:0];
    assign unused_padding = ^all_parts[BK_PORTS*US*33-1:U*33];
  end

  // ---- the schedule
  logic read_valid, read_bank, exponents_valid, batch_loaded, batch_done, bank_free, slot_begins;
  logic waits_for_key, waits_for_accumulator, waits_for_batch;
  logic [PES-1:0] read_active, exponents_active, key_active, slot_active;
  logic [AW-1:0] read_address, load_address, drain_address;
  logic [EW-1:0] exponents_address, exponents_write_address;
  logic [CW-1:0] batch_done_count;
  sequencer #(
      .LOG_N(LOG_N), .LOG_B(LOG_B), .L(L), .M(M), .PES(PES), .K(K), .BUFFERS(BK_BUFFERS),
      .LOG_STEPS(LOG_STEPS)
  ) schedule (
      .clk(aclk), .rst_n(clear_n), .start(launch && rotates), .count(d.count), .steps,
      .batch_loaded, .chunk_ready, .read_valid, .read_active, .read_bank, .read_address,
      .exponents_valid, .exponents_active, .exponents_address, .key_valid, .key_active,
      .key_address, .acquire, .release_chunk, .batch_done, .batch_done_count, .slot_begins,
      .slot_active, .waits_for_key, .waits_for_accumulator, .waits_for_batch);

  // ---- the processing elements
  logic [PES-1:0] exponents_write;
  logic [M-1:0][LOG_N:0] exponents_write_data;
  logic [PES-1:0][B-1:0] load_enable;
  logic load_bank, drain_bank;
  logic [1:0][32:0] load_pair;
  logic [PES-1:0][1:0][LANES-1:0][32:0] drain_rows;
  for (genvar e = 0; e < PES; e++) begin : g_pe
    pe #(
        .LOG_N(LOG_N), .LOG_B(LOG_B), .L(L), .LOG_BG(LOG_BG), .M(M), .K(K), .EXPONENT_WORDS(1 << EW)
    ) element (
        .clk(aclk), .rst_n(clear_n), .read_valid(read_valid && read_active[e]), .read_bank,
        .read_address, .exponents_valid(exponents_valid && exponents_active[e]),
        .exponents_address, .key_valid(key_valid && key_active[e]), .key,
        .exponents_write(exponents_write[e]), .exponents_write_address, .exponents_write_data,
        .load_enable(load_enable[e]), .load_bank, .load_address, .load_pair, .drain_bank,
        .drain_address, .drain_row(drain_rows[e]));
  end

  // ---- inputs
  logic io_command, io_command_ready, io_beat_valid, io_beat_ready, io_idle, io_error, io_beat;
  logic [63:0] io_address;
  logic [39:0] io_beats;
  logic [MEM_BITS-1:0] io_beat_data;
  logic word_valid, word_ready;
  logic [31:0] word;
  axi_reader #(.DATA_BITS(MEM_BITS), .QUEUE_BURSTS(2)) io_reader (
      .clk(aclk), .rst_n(clear_n), .command_valid(io_command), .command_ready(io_command_ready),
      .command_address(io_address), .command_beats(io_beats), .out_valid(io_beat_valid),
      .out_ready(io_beat_ready), .out_data(io_beat_data), .flush(halt), .idle(io_idle),
      .error(io_error), .beat(io_beat), .arvalid(m_axi_io_arvalid), .arready(m_axi_io_arready),
      .araddr(m_axi_io_araddr), .arlen(m_axi_io_arlen), .rvalid(m_axi_io_rvalid),
      .rready(m_axi_io_rready), .rdata(m_axi_io_rdata), .rresp(m_axi_io_rresp));
  loader #(
      .LOG_N(LOG_N), .LOG_B(LOG_B), .M(M), .PES(PES), .K(K), .LOG_STEPS(LOG_STEPS),
      .DATA_BITS(MEM_BITS)
  ) load (
      .clk(aclk), .rst_n(clear_n), .start(launch), .switch_only(!rotates),
      .as_exponents(d.mode[8]), .centred(d.mode[9]), .n(d.n), .count(d.count), .luts(d.luts),
      .offset(d.offset[LOG_N:0]), .in_address(d.in_address), .lut_address(d.lut_address),
      .record_beats, .bank_free, .batch_loaded, .error(loader_error), .command_valid(io_command),
      .command_ready(io_command_ready), .command_address(io_address), .command_beats(io_beats),
      .beat_valid(io_beat_valid), .beat_ready(io_beat_ready), .beat_data(io_beat_data),
      .exponents_write, .exponents_address(exponents_write_address),
      .exponents_data(exponents_write_data), .load_enable, .load_bank, .load_address, .load_pair,
      .word_valid, .word_ready, .word);

  // ---- from accumulators to samples modulo p, and modulo 2^32
  logic sample_valid, sample_ready, sample_last;
  logic [32:0] sample;
  drain #(.LOG_N(LOG_N), .LOG_B(LOG_B), .PES(PES), .K(K)) empty (
      .clk(aclk), .rst_n(clear_n), .batch_done, .batch_done_count, .constant(d.constant[32:0]),
      .bank_free, .drain_bank, .drain_address, .drain_rows, .out_valid(sample_valid),
      .out_ready(sample_ready), .out_word(sample), .out_last(sample_last));
  logic rounded_moves, long_ready, ks_in_valid, ks_in_ready;
  logic [2:0] rounded_valid;
  logic [31:0] rounded, ks_in_word;
  assign rounded_moves = !rounded_valid[2] || ks_in_ready;
  assign sample_ready = extracts ? long_ready : rounded_moves;
  always_ff @(posedge aclk)
    if (!clear_n) rounded_valid <= '0;
    else if (rounded_moves) rounded_valid <= {rounded_valid[1:0], sample_valid && !extracts};
  mod_switch to_lwe (.clk(aclk), .en(rounded_moves), .x(sample), .r(rounded));
  assign ks_in_valid = rotates ? rounded_valid[2] : word_valid;
  assign ks_in_word = rotates ? rounded : word;
  assign word_ready = ks_in_ready;

  // ---- key switching
  logic ksk_command, ksk_command_ready, ksk_beat_valid, ksk_beat_ready, ksk_idle, ksk_error;
  logic ksk_beat, switched_valid, switched_ready, ks_busy;
  logic [63:0] ksk_address;
  logic [39:0] ksk_command_beats;
  logic [KSK_BITS-1:0] ksk_beat_data;
  logic [MEM_BITS-1:0] switched;
  axi_reader #(.DATA_BITS(KSK_BITS)) ksk_reader (
      .clk(aclk), .rst_n(clear_n), .command_valid(ksk_command), .command_ready(ksk_command_ready),
      .command_address(ksk_address), .command_beats(ksk_command_beats),
      .out_valid(ksk_beat_valid), .out_ready(ksk_beat_ready), .out_data(ksk_beat_data),
      .flush(halt), .idle(ksk_idle), .error(ksk_error), .beat(ksk_beat),
      .arvalid(m_axi_ksk_arvalid), .arready(m_axi_ksk_arready), .araddr(m_axi_ksk_araddr),
      .arlen(m_axi_ksk_arlen), .rvalid(m_axi_ksk_rvalid), .rready(m_axi_ksk_rready),
      .rdata(m_axi_ksk_rdata), .rresp(m_axi_ksk_rresp));
  key_switch #(
      .LOG_N(LOG_N), .MAX_N_LWE(MAX_N_LWE), .L_KS(L_KS), .LOG_BKS(LOG_BKS), .LANES(KS_LANES),
      .KSK_BITS(KSK_BITS), .OUT_BITS(MEM_BITS), .CAPACITY(CAPACITY), .KEY_ROWS(KSK_ROWS)
  ) switch_key (
      .clk(aclk), .rst_n(clear_n), .start(launch && switches), .count(d.count), .n(d.n),
      .in_valid(ks_in_valid), .in_ready(ks_in_ready), .in_word(ks_in_word),
      .key_address(d.ksk_address), .key_beats(ksk_beats), .command_valid(ksk_command),
      .command_ready(ksk_command_ready), .command_address(ksk_address),
      .command_beats(ksk_command_beats), .beat_valid(ksk_beat_valid), .beat_ready(ksk_beat_ready),
      .beat_data(ksk_beat_data), .out_valid(switched_valid), .out_ready(switched_ready),
      .out_data(switched), .busy(ks_busy));

  // ---- results
  logic long_valid, long_taken, result_valid, result_ready, write_idle, io_write_beat;
  logic [MEM_BITS-1:0] long_beat, result;
  word_beats #(.DATA_BITS(MEM_BITS), .WIDTH(64)) samples (
      .clk(aclk), .rst_n(clear_n), .in_valid(sample_valid && extracts), .in_ready(long_ready),
      .in_word({31'd0, sample}), .in_last(sample_last), .out_valid(long_valid),
      .out_ready(long_taken), .out_data(long_beat));
  assign result_valid = extracts ? long_valid : switched_valid;
  assign result = extracts ? long_beat : switched;
  assign long_taken = extracts && result_ready;
  assign switched_ready = !extracts && result_ready;
  axi_writer #(.DATA_BITS(MEM_BITS)) writer (
      .clk(aclk), .rst_n(clear_n), .command_valid(launch), .command_address(d.out_address),
      .command_beats(result_beats), .in_valid(result_valid), .in_ready(result_ready),
      .in_data(result), .flush(halt), .idle(write_idle), .done(results_done), .error(write_error),
      .beat(io_write_beat), .awvalid(m_axi_io_awvalid), .awready(m_axi_io_awready),
      .awaddr(m_axi_io_awaddr), .awlen(m_axi_io_awlen), .wvalid(m_axi_io_wvalid),
      .wready(m_axi_io_wready), .wdata(m_axi_io_wdata), .wlast(m_axi_io_wlast),
      .bvalid(m_axi_io_bvalid), .bready(m_axi_io_bready), .bresp(m_axi_io_bresp));
  assign quiet = &bk_idle && ksk_idle && io_idle && write_idle;
  assign read_error = |bk_error || ksk_error || io_error;

  // ---- counters
  function automatic logic [63:0] ones(logic [PES-1:0] bits);
    logic [63:0] sum;
    sum = '0;
    for (int e = 0; e < PES; e++) sum = sum + 64'(bits[e]);
    return sum;
  endfunction
  // Results are whole when their beats are written.
  localparam int LONG_BEATS = (2 * ((1 << LOG_N) + 1) + WIDE - 1) / WIDE;
  logic [39:0] beats_of_result, of_result;
  assign beats_of_result = switches ? (40'(d.n) + 40'(WIDE)) >> $clog2(WIDE)
                           : 40'(LONG_BEATS);
  logic result_written;
  assign result_written = io_write_beat && of_result + 40'd1 == beats_of_result;
  always_ff @(posedge aclk)
    if (!clear_n || launch) of_result <= '0;
    else if (io_write_beat) of_result <= result_written ? '0 : of_result + 40'd1;
  always_ff @(posedge aclk)
    if (!aresetn || start) counters <= '0;
    else if (runs) begin
      counters[0] <= counters[0] + 64'd1;
      counters[1] <= counters[1] + 64'(slot_begins);
      counters[2] <= counters[2] + (slot_begins ? ones(slot_active) : 64'd0);
      counters[3] <= counters[3] + 64'(waits_for_key);
      counters[4] <= counters[4] + 64'(waits_for_accumulator);
      counters[5] <= counters[5] + 64'(waits_for_batch);
      counters[6] <= counters[6] + 64'(bk_beat[0]);
      counters[7] <= counters[7] + 64'(ksk_beat);
      counters[8] <= counters[8] + 64'(io_beat);
      counters[9] <= counters[9] + 64'(io_write_beat);
      counters[10] <= counters[10] + 64'(ks_busy);
      counters[11] <= counters[11] + 64'(result_written);
    end

  assign m_axi_ksk_arsize = 3'($clog2(KSK_BITS / 8));
  assign m_axi_ksk_arburst = 2'b01;
  assign m_axi_io_arsize = 3'($clog2(MEM_BITS / 8));
  assign m_axi_io_arburst = 2'b01;
  assign m_axi_io_awsize = 3'($clog2(MEM_BITS / 8));
  assign m_axi_io_awburst = 2'b01;
  assign m_axi_io_wstrb = '1;
  // Beats are counted; protection, of which there is none, and the ends of bursts are not looked at.
  logic unused;
  assign unused = ^{s_axil_awprot, s_axil_arprot, m_axi_bk_rlast, m_axi_ksk_rlast, m_axi_io_rlast,
                    bk_beat, d.io_bytes, d.ksk_bytes, d.bk_bytes, d.bk_address, d.mode, d.group,
                    d.offset, d.constant};
endmodule
