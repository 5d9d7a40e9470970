// Runs. The descriptor stays while busy, as `registers` keeps it; a start comes only while not busy, an abort only while
// busy. The order of errors and the formulas of what a run needs are those of README sections 3 and 5, written again.
module control_rules
  import whorl_pkg::*;
#(
    parameter int LOG_N = 6,
    parameter int M = 2,
    parameter int MAX_N_LWE = 40,
    parameter int L_KS = 1,
    parameter int BK_PORTS = 2,
    parameter int MEM_BITS = 1024,
    parameter int KSK_BITS = 64,
    parameter int CHUNK_BEATS = 3,
    parameter int LOG_STEPS = 5
) (
    input logic clk,
    input logic rst_n,
    input logic start,
    input logic abort,
    input descriptor_t descriptor,
    input logic [4:0] loader_error,
    input logic read_error,
    input logic write_error,
    input logic results_done,
    input logic quiet
);
  localparam longint N = 1 << LOG_N;
  logic started, busy, done, launch, runs, halt, clear_n;
  logic [4:0] error;
  logic [LOG_STEPS:0] steps;
  logic [39:0] record_beats, result_beats, ksk_beats, bk_beats;
  control #(
      .LOG_N(LOG_N), .M(M), .MAX_N_LWE(MAX_N_LWE), .L_KS(L_KS), .BK_PORTS(BK_PORTS), .MEM_BITS(MEM_BITS),
      .KSK_BITS(KSK_BITS), .CHUNK_BEATS(CHUNK_BEATS), .LOG_STEPS(LOG_STEPS)) dut (.*);
  from_reset begins (.clk, .rst_n, .started);

  // ---- what a run needs: words, padded to whole beats
  logic rotates, switches;
  logic [63:0] n, record, result, row, of_results, of_steps;
  logic [95:0] end_of[4+BK_PORTS], limit[4+BK_PORTS];
  logic uses[4+BK_PORTS];
  assign rotates = descriptor.mode[1:0] == 0 || descriptor.mode[1:0] == 1;
  assign switches = descriptor.mode[1:0] == 0 || descriptor.mode[1:0] == 2;
  assign n = 64'(descriptor.n);
  function automatic logic [63:0] beats(logic [63:0] words, int bits);
    return (words + 64'(bits / 32) - 1) >> $clog2(bits / 32);
  endfunction
  // The numbers of beats are few: so a solver follows their products.
  function automatic logic [63:0] product_of(logic [63:0] a, logic [63:0] few);
    logic [63:0] sum;
    sum = '0;
    for (int i = 0; i < 7; i++) if (few[i]) sum = sum + (a << i);
    return sum;
  endfunction
  always_comb begin
    record = beats(rotates ? n + 2 : N + 1, MEM_BITS);
    result = beats(switches ? n + 1 : 2 * (N + 1), MEM_BITS);
    row = beats(n + 1, KSK_BITS);
    of_steps = (n + M - 1) / M;
    of_results = product_of(64'(descriptor.count), result);
    end_of[0] = 96'(descriptor.in_address) + 96'(product_of(64'(descriptor.count), record)) * (MEM_BITS / 8);
    end_of[1] = 96'(descriptor.lut_address) + 96'(descriptor.luts) * (N * 8);
    end_of[2] = 96'(descriptor.out_address) + 96'(of_results) * (MEM_BITS / 8);
    end_of[3] = 96'(descriptor.ksk_address) + 96'(row) * (N * L_KS * KSK_BITS / 8);
    for (int s = 0; s < BK_PORTS; s++)
      end_of[4+s] = 96'(descriptor.bk_address[s]) + 96'(of_steps) * (CHUNK_BEATS * MEM_BITS / 8);
    for (int r = 0; r < 4 + BK_PORTS; r++) begin
      limit[r] = 96'(r < 3 ? descriptor.io_bytes : r == 3 ? descriptor.ksk_bytes : descriptor.bk_bytes);
      uses[r] = r == 0 || r == 2 || (r == 3 ? switches : rotates);
    end
  end
  logic [4:0] expected;
  logic aligned, fits;
  always_comb begin
    aligned = descriptor.in_address % 4096 == 0 && descriptor.out_address % 4096 == 0;
    if (rotates && descriptor.lut_address % 4096 != 0) aligned = 0;
    if (switches && descriptor.ksk_address % 4096 != 0) aligned = 0;
    for (int s = 0; s < BK_PORTS; s++) if (rotates && descriptor.bk_address[s] % 4096 != 0) aligned = 0;
    // The last of these that holds is the first of the order 5, 1, 2, 3, 4, 6, 7, 8, 9 …
    expected = 0;
    for (int s = BK_PORTS - 1; s >= 0; s--) if (uses[4+s] && end_of[4+s] > limit[4+s]) expected = 13;
    if (uses[3] && end_of[3] > limit[3]) expected = 12;
    if (end_of[2] > limit[2] || of_results >= 64'd1 << 40) expected = 11;
    if (uses[1] && end_of[1] > limit[1]) expected = 10;
    if (end_of[0] > limit[0]) expected = 9;
    if (!aligned) expected = 8;
    if (rotates && (descriptor.offset >= 2 * N || descriptor.constant >= 64'(P))) expected = 7;
    if (rotates && descriptor.luts == 0) expected = 6;
    if (descriptor.count == 0) expected = 4;
    if (descriptor.group != M) expected = 3;
    if (descriptor.n > MAX_N_LWE) expected = 2;
    if (descriptor.n == 0) expected = 1;
    if ((descriptor.mode & ~32'h303) != 0 || descriptor.mode[1:0] == 3) expected = 5;
  end

  // ---- what happened since the start
  descriptor_t held;
  logic was_busy, was_reset, aborted, launched, calmed, cleared;
  logic [4:0] expected_last;  // while it was busy
  logic [4:0] first_error;  // of the run
  logic [4:0] event_now;
  assign event_now = abort ? 5'd15 : read_error ? 5'd18 : write_error ? 5'd19 : loader_error;
  // Each cycle of a check, or of cleaning, comes nearer to its end.
  logic [127:0] distance, last_distance;
  logic counts, counted;
  localparam logic [3:0] IDLE = 0, CLEAR = 1, SHAPE = 2, STEPS = 3, MULTIPLY = 4, FITS = 5, LAUNCH = 6, RUN = 7, HALT = 8,
      CLEAN = 9;
  logic [3:0] state;
  assign state = 4'(dut.state);
  assign counts = state != IDLE && state != RUN && state != HALT;
  always_comb begin
    distance = '0;
    if (state == CLEAR) distance[120:112] = 9'd3;
    if (state == SHAPE) distance[120:112] = 9'd2;
    if (state == STEPS || state == MULTIPLY || state == FITS) begin
      distance[120:112] = 9'd1;
      distance[111:104] = 8'(BK_PORTS + 3) - 8'(dut.region);
      distance[103:96] = state == STEPS ? 8'd2 : state == MULTIPLY ? 8'd1 : 8'd0;
      distance[95:64] = state == STEPS ? dut.left : '0;
      distance[63:32] = state == MULTIPLY ? dut.bits : '0;
    end
    if (state == LAUNCH) distance[31:8] = 24'd1;
    if (state == CLEAR || state == CLEAN) distance[7:0] = 8'd7 - 8'(dut.clean);
  end

  // The product so far is that of the bits so far.
  int bits_done;
  logic [63:0] factor_so_far;
  assign factor_so_far = 64'(dut.factor) & ((64'd1 << bits_done) - 1);
  logic checks;
  assign checks = state == STEPS || state == MULTIPLY || state == FITS;

  always_ff @(posedge clk) begin
    held <= descriptor;
    was_busy <= busy;
    was_reset <= !rst_n;
    if (busy) expected_last <= expected;
    if (started && was_busy) assume (descriptor == held);
    if (started && busy) assume (!start);
    if (started && !busy) assume (!abort);
    if (started && !runs) assume (!results_done);
    assume (loader_error == 0 || loader_error == 14 || loader_error == 16 || loader_error == 17);
    if (!rst_n || start) begin
      aborted <= 0;
      launched <= 0;
      first_error <= 0;
      calmed <= 0;
      cleared <= 0;
    end else begin
      if (abort && !launched && !launch && state != CLEAN) aborted <= 1;
      if (launch) launched <= 1;
      if (runs || launch && abort) first_error <= event_now;
      if (halt && launched && quiet) calmed <= 1;
      if (!clear_n) cleared <= 1;
    end
    last_distance <= distance;
    counted <= rst_n && counts;
    bits_done <= state == MULTIPLY ? bits_done + 1 : 0;

    if (started) begin
      // A run begins only with a descriptor in which nothing is wrong, in units that were reset.
      if (launch) begin
        assert (expected == 0 && error == 0 && clear_n && !halt && cleared && !launched);
        assert (64'(steps) == of_steps && 64'(record_beats) == record && 64'(result_beats) == of_results);
        assert (!switches || 64'(ksk_beats) == row * N * L_KS);
        assert (!rotates || 64'(bk_beats) == of_steps * CHUNK_BEATS);
        assert (result_beats != 0 && record_beats != 0 && (!switches || ksk_beats != 0) && (!rotates || bk_beats != 0));
      end
      // It ends as done, or with the first error; what is wrong in a descriptor is found before the launch.
      if (was_busy && !busy && !was_reset) assert (done != (error != 0));
      if (!busy && done) assert (launched && first_error == 0 && error == 0);
      if (!busy && error != 0) assert (error == (launched ? first_error : aborted ? 5'd15 : expected_last));
      if (busy) assert (!done);
      // After an error no burst begins, and units are reset only when none is unfinished.
      if (launched && !clear_n) assert (calmed);
      if (first_error != 0 && busy) assert (halt);
      // A check, and what follows on an error, end.
      if (counted && counts) assert (distance < last_distance);
      // What makes the induction go through.
      assert (state <= CLEAN && (first_error == 0 || launched && !aborted) && (!aborted || !launched));
      if (state == CLEAR || state == SHAPE || checks || state == LAUNCH) assert (!launched && !aborted && error == 0);
      if (state == SHAPE || checks || state == LAUNCH || state == RUN || state == HALT) assert (cleared || !clear_n);
      if (checks || state == LAUNCH || state == RUN || state == HALT) assert (clear_n && cleared);
      if (state == RUN) assert (launched && error == 0 && first_error == 0);
      if (state == HALT) assert (launched && error != 0 && error == first_error);
      if (state == CLEAN) begin
        assert (error != 0 && error == (launched ? first_error : aborted ? 5'd15 : expected));
        if (launched) assert (calmed);
      end
      if (checks || state == LAUNCH) begin
        assert (expected == 0 || expected >= 9);
        for (int r = 0; r < 4 + BK_PORTS; r++)
          if (r < int'(dut.region) || state == LAUNCH) assert (!uses[r] || end_of[r] <= limit[r]);
        if (dut.region > 2 || state == LAUNCH) assert (64'(result_beats) == of_results);
        if (dut.region > 3 || state == LAUNCH) assert (64'(ksk_beats) == row * N * L_KS);
        if (dut.region > 4 || state == LAUNCH) assert (64'(bk_beats) == of_steps * CHUNK_BEATS);
        if (state == STEPS && dut.region == 0) assert (64'(steps) + (64'(dut.left) + M - 1) / M == of_steps && 64'(dut.left) <= n);
        else assert (64'(steps) == of_steps && dut.left == 0);
      end
      if (checks) begin
        assert (dut.region < 4 + BK_PORTS && dut.times < 128 && bits_done >= 0 && bits_done <= 33);
        if (state == MULTIPLY) begin
          assert (bits_done <= 32 && dut.bits == 32'(64'(dut.factor) >> bits_done));
          assert (bits_done == 0 || 64'(dut.factor) >> (bits_done - 1) != 0);
          if (dut.bits != 0) assert (dut.partial == 64'(dut.times) << bits_done);
          assert (dut.product == product_of(factor_so_far, 64'(dut.times)));
        end
        if (state == FITS) assert (dut.product == product_of(64'(dut.factor), 64'(dut.times)));
        if (state != MULTIPLY && state != FITS) assert (bits_done == 0);
      end
    end
  end
endmodule
