// The twiddles of one stage for blocks GROUP, GROUP + GROUPS, …: entry i is
// psi^±brv(2^STAGE + i·GROUPS + GROUP).
// From 2^BLOCK_FROM entries on they lie in block memory.
// In: address, the entry's number. Out: the twiddle in the next enabled cycle.
module twiddle_rom
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int STAGE = 3,
    parameter int LOG_ENTRIES = 3,
    parameter int GROUPS = 1,
    parameter int GROUP = 0,
    parameter bit INVERSE = 0,
    parameter int BLOCK_FROM = 7
) (
    input  logic                                          clk,
    input  logic                                          en,
    input  logic [(LOG_ENTRIES > 0 ? LOG_ENTRIES : 1)-1:0] address,
    output logic [32:0]                                   twiddle
);
  function automatic logic [32:0] entry(int i);
    int e;
    e = brv((1 << STAGE) + i * GROUPS + GROUP, LOG_N);
    return pow_table(psi(LOG_N), INVERSE ? 2 * (1 << LOG_N) - e : e);
  endfunction
  if (LOG_ENTRIES == 0) begin : g_one
    localparam logic [32:0] ONLY = entry(0);
    always_ff @(posedge clk) if (en) twiddle <= ONLY;
    logic unused;
    assign unused = address[0];
  end else if (LOG_ENTRIES < BLOCK_FROM) begin : g_few
    logic [32:0] rom[1 << LOG_ENTRIES];
    initial for (int i = 0; i < (1 << LOG_ENTRIES); i++) rom[i] = entry(i);
    always_ff @(posedge clk) if (en) twiddle <= rom[address];
  end else begin : g_many
    (* rom_style = "block" *) logic [32:0] rom[1 << LOG_ENTRIES];
    initial for (int i = 0; i < (1 << LOG_ENTRIES); i++) rom[i] = entry(i);
    always_ff @(posedge clk) if (en) twiddle <= rom[address];
  end
endmodule
