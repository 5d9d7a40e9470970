// A delay of DEPTH enabled cycles. Short ones are registers, those from MEMORY_FROM on a ring in memory,
// which from BLOCK_FROM on is block memory.
// In: d. Out: q, what d was DEPTH enabled cycles before; undefined until as many have passed.
module delay_line #(
    parameter int WIDTH = 33,
    parameter int DEPTH = 8,
    parameter int MEMORY_FROM = 24,
    parameter int BLOCK_FROM = 48
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             en,
    input  logic [WIDTH-1:0] d,
    output logic [WIDTH-1:0] q
);
  if (DEPTH == 0) begin : g_wire
    assign q = d;
    logic unused;
    assign unused = clk & rst_n & en;
  end else if (DEPTH < MEMORY_FROM) begin : g_registers
    logic [WIDTH-1:0] stages[DEPTH];
    always_ff @(posedge clk) if (en) begin
      stages[0] <= d;
      for (int i = 1; i < DEPTH; i++) stages[i] <= stages[i-1];
    end
    assign q = stages[DEPTH-1];
    logic unused;
    assign unused = rst_n;
  end else begin : g_ring
    // DEPTH - 1 places, read before they are written, and the register behind them.
    localparam int AW = $clog2(DEPTH - 1);
    logic [AW-1:0] at;
    always_ff @(posedge clk)
      if (!rst_n) at <= '0;
      else if (en) at <= at == AW'(DEPTH - 2) ? '0 : at + 1'b1;
    if (DEPTH < BLOCK_FROM) begin : g_luts
      logic [WIDTH-1:0] ring[DEPTH-1];
      always_ff @(posedge clk) if (en) begin
        q <= ring[at];
        ring[at] <= d;
      end
    end else begin : g_block
      (* ram_style = "block" *) logic [WIDTH-1:0] ring[DEPTH-1];
      always_ff @(posedge clk) if (en) begin
        q <= ring[at];
        ring[at] <= d;
      end
    end
  end
endmodule
