// Runs: checks the descriptor, launches the units, waits for the end, and cleans up after an error.
// In: start, abort, the descriptor; errors of the units; results_done; quiet: no burst is outstanding.
// Out: busy, done, error; launch for a cycle; the numbers made of the descriptor; halt: ports stop; clear_n, low: the
// units are reset. Checks take about n/m + 100 cycles.
module control
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int M = 2,
    parameter int MAX_N_LWE = 500,
    parameter int L_KS = 8,
    parameter int BK_PORTS = 1,
    parameter int MEM_BITS = 512,
    parameter int KSK_BITS = 512,
    parameter int CHUNK_BEATS = 1584,
    parameter int LOG_STEPS = 8
) (
    input  logic                clk,
    input  logic                rst_n,
    input  logic                start,
    input  logic                abort,
    input  descriptor_t         descriptor,
    input  logic [4:0]          loader_error,
    input  logic                read_error,
    input  logic                write_error,
    input  logic                results_done,
    input  logic                quiet,
    output logic                busy,
    output logic                done,
    output logic [4:0]          error,
    output logic                launch,
    output logic                runs,
    output logic                halt,
    output logic                clear_n,
    output logic [LOG_STEPS:0]  steps,
    output logic [39:0]         record_beats,
    output logic [39:0]         result_beats,
    output logic [39:0]         ksk_beats,
    output logic [39:0]         bk_beats
);
  localparam int LOG_WORDS = $clog2(MEM_BITS / 32), LOG_KSK_WORDS = $clog2(KSK_BITS / 32);
  localparam int LOG_BYTES = $clog2(MEM_BITS / 8), LOG_KSK_BYTES = $clog2(KSK_BITS / 8);
  localparam logic [31:0] N = 32'd1 << LOG_N;

  typedef enum logic [3:0] {
    IDLE, CLEAR, SHAPE, STEPS, MULTIPLY, FITS, LAUNCH, RUN, HALT, CLEAN
  } state_t;
  state_t state;
  logic [1:0] mode;
  assign mode = descriptor.mode[1:0];
  logic rotates, switches;
  assign rotates = mode != 2'd2;
  assign switches = mode != 2'd1;

  logic [31:0] record_words, result_words, record, result, row_beats, ksk_words;
  assign record_words = rotates ? descriptor.n + 32'd2 : N + 32'd1;
  assign result_words = switches ? descriptor.n + 32'd1 : 2 * N + 32'd2;
  assign ksk_words = descriptor.n + 32'(KSK_BITS / 32);
  assign record = (record_words + 32'(MEM_BITS / 32 - 1)) >> LOG_WORDS;
  assign result = (result_words + 32'(MEM_BITS / 32 - 1)) >> LOG_WORDS;
  assign row_beats = ksk_words >> LOG_KSK_WORDS;

  // What a descriptor may be wrong in before anything is multiplied.
  logic [4:0] shape_error;
  logic aligned;
  always_comb begin
    aligned = descriptor.in_address[11:0] == '0 && descriptor.out_address[11:0] == '0;
    if (rotates) begin
      aligned = aligned && descriptor.lut_address[11:0] == '0;
      for (int s = 0; s < BK_PORTS; s++)
        aligned = aligned && descriptor.bk_address[s][11:0] == '0;
    end
    if (switches) aligned = aligned && descriptor.ksk_address[11:0] == '0;
    if (mode == 2'd3 || descriptor.mode[7:2] != '0 || descriptor.mode[31:10] != '0)
      shape_error = MODE_WRONG;
    else if (descriptor.n == '0) shape_error = N_ZERO;
    else if (descriptor.n > 32'(MAX_N_LWE)) shape_error = N_LARGE;
    else if (descriptor.group != 32'(M)) shape_error = GROUP_WRONG;
    else if (descriptor.count == '0) shape_error = COUNT_ZERO;
    else if (rotates && descriptor.luts == '0) shape_error = LUTS_ZERO;
    else if (rotates && (descriptor.offset >= 2 * N || descriptor.constant >= {31'd0, P}))
      shape_error = RANGE_WRONG;
    else if (!aligned) shape_error = MISALIGNED;
    else shape_error = OK;
  end

  // Regions, one after the other: factor·times units from `address` on must end at `limit`.
  logic [3:0] region;
  logic [31:0] factor, times;
  logic [63:0] product, address, limit;
  logic [5:0] shift;
  logic [4:0] region_error;
  logic [31:0] left;
  logic region_used, last_region;
  always_comb begin
    factor = descriptor.count;
    times = record;
    address = descriptor.in_address;
    limit = descriptor.io_bytes;
    shift = 6'(LOG_BYTES);
    region_error = INPUTS_END;
    region_used = 1'b1;
    case (region)
      4'd0: ;
      4'd1: begin
        factor = descriptor.luts;
        times = 32'd1;
        address = descriptor.lut_address;
        shift = 6'(LOG_N + 3);
        region_error = LUTS_END;
        region_used = rotates;
      end
      4'd2: begin
        times = result;
        address = descriptor.out_address;
        region_error = RESULTS_END;
      end
      4'd3: begin
        factor = row_beats;
        times = 32'(L_KS) << LOG_N;
        address = descriptor.ksk_address;
        limit = descriptor.ksk_bytes;
        shift = 6'(LOG_KSK_BYTES);
        region_error = KSK_END;
        region_used = switches;
      end
      default: begin
        factor = 32'(steps);
        times = 32'(CHUNK_BEATS);
        address = descriptor.bk_address[3'(region-4'd4)];
        limit = descriptor.bk_bytes;
        region_error = BK_END;
        region_used = rotates;
      end
    endcase
  end
  assign last_region = region == 4'(BK_PORTS + 3);
  logic [63:0] partial;  // times, doubled
  logic [31:0] bits;     // of the factor that are left
  logic [64:0] reach, bytes;
  assign bytes = {1'b0, product << shift};
  assign reach = {1'b0, address} + bytes;
  logic too_many;  // beats of results for their counter
  assign too_many = region == 4'd2 && product[63:40] != '0;

  logic [4:0] run_error;
  always_comb begin
    run_error = OK;
    if (abort) run_error = ABORTED;
    else if (read_error) run_error = READ_ERROR;
    else if (write_error) run_error = WRITE_ERROR;
    else if (loader_error != OK) run_error = loader_error;
  end

  logic [2:0] clean;
  assign busy = state != IDLE;
  assign launch = state == LAUNCH;
  assign runs = state == RUN;
  // Until the units are reset: clear_n comes a cycle after the state.
  assign halt = state == HALT || state == CLEAN || state == CLEAR;
  assign record_beats = 40'(record);
  always_ff @(posedge clk)
    if (!rst_n) begin
      state <= IDLE;
      done <= 1'b0;
      error <= OK;
      clear_n <= 1'b0;
      clean <= '0;
    end else begin
      clear_n <= state != CLEAR && state != CLEAN;
      case (state)
        IDLE:
        if (start) begin
          state <= CLEAR;
          done <= 1'b0;
          error <= OK;
        end
        CLEAR: begin
          clean <= clean + 1'b1;
          if (clean == '1) state <= SHAPE;
        end
        SHAPE: begin
          left <= descriptor.n;
          steps <= '0;
          region <= '0;
          error <= shape_error;
          state <= shape_error == OK ? STEPS : CLEAN;
        end
        STEPS: begin
          product <= '0;
          partial <= 64'(times);
          bits <= factor;
          if (left != '0) begin
            steps <= steps + 1'b1;
            left <= left > 32'(M) ? left - 32'(M) : '0;
          end else state <= MULTIPLY;
        end
        MULTIPLY: begin
          if (bits[0]) product <= product + partial;
          partial <= partial << 1;
          bits <= bits >> 1;
          if (bits == '0) state <= FITS;
        end
        FITS: begin
          if (region == 4'd2) result_beats <= product[39:0];
          if (region == 4'd3) ksk_beats <= product[39:0];
          if (region == 4'd4) bk_beats <= product[39:0];
          region <= region + 1'b1;
          if (region_used && (reach > {1'b0, limit} || too_many)) begin
            error <= region_error;
            state <= CLEAN;
          end else state <= last_region ? LAUNCH : STEPS;
        end
        LAUNCH: state <= RUN;
        RUN:
        if (run_error != OK) begin
          error <= run_error;
          state <= HALT;
        end else if (results_done) begin
          done <= 1'b1;
          state <= IDLE;
        end
        HALT: if (quiet) state <= CLEAN;
        default: begin  // CLEAN
          clean <= clean + 1'b1;
          if (clean == '1) state <= IDLE;
        end
      endcase
      if (abort && state != RUN && state != HALT && state != CLEAN) begin
        error <= ABORTED;
        state <= state == LAUNCH ? HALT : CLEAN;
      end
    end
endmodule
