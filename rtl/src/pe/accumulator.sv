// The accumulators of one PE: two banks of K ciphertexts. One bank takes part in the steps while the other is
// drained and loaded. A row has, for each l < B, the coefficients B·t + l and B·t + l + N/2 of a and of b.
// Steps: read_valid with a bank and an address gives the row, row_valid, ACC_READ_LATENCY = 2 cycles later, and
// keeps a copy. The products come in the order of the reads, two cycles after the row or later; each is added to its
// copy and written back one cycle after it came.
// Loading: a write of the b coefficients at one l, with zeros for a. Draining: a read of a row, two cycles long.
// Reads and writes for loading and draining must not touch the bank that steps use.
module accumulator
  import whorl_pkg::*;
#(
    parameter int LOG_N = 10,
    parameter int LOG_B = 0,
    parameter int L = 2,
    parameter int K = 3,
    localparam int B = 1 << LOG_B,
    localparam int ROWS = 1 << (LOG_N - 1 - LOG_B),
    localparam int AW = $clog2(K * ROWS)
) (
    input  logic                          clk,
    input  logic                          rst_n,
    input  logic                          read_valid,
    input  logic                          read_bank,
    input  logic [AW-1:0]                 read_address,
    output logic                          row_valid,
    output logic [1:0][2*B-1:0][32:0]     row,
    input  logic                          product_valid,
    input  logic [1:0][2*B-1:0][32:0]     product,
    input  logic [B-1:0]                  load_enable,
    input  logic                          load_bank,
    input  logic [AW-1:0]                 load_address,
    input  logic [1:0][32:0]              load_pair,
    input  logic                          drain_bank,
    input  logic [AW-1:0]                 drain_address,
    output logic [1:0][2*B-1:0][32:0]     drain_row
);
  // Rows between their read and their write.
  localparam int FLIGHT = 1 << $clog2(lat_wb(LOG_N, LOG_B, L) + 2), FW = $clog2(FLIGHT);
  localparam int ROW_BITS = 4 * B * 33;

  logic [1:0][1:0][2*B-1:0][32:0] bank_row;  // of both banks
  logic [1:0] valid, bank_late;
  logic drain_late;
  logic [1:0][AW-1:0] address_late;
  logic write_valid, write_bank;
  logic [AW-1:0] write_address;
  logic [1:0][2*B-1:0][32:0] write_row;

  for (genvar x = 0; x < 2; x++) begin : g_bank
    logic [AW-1:0] address;
    assign address = read_valid && read_bank == x[0] ? read_address : drain_address;
    for (genvar l = 0; l < B; l++) begin : g_pair
      logic [1:0][1:0][32:0] memory[K*ROWS];  // column, half
      logic [1:0][1:0][32:0] out, in;
      logic by_step, by_load;
      assign by_step = write_valid && write_bank == x[0];
      assign by_load = load_enable[l] && load_bank == x[0];
      always_comb
        for (int column = 0; column < 2; column++)
          for (int half = 0; half < 2; half++)
            in[column][half] = by_step ? write_row[column][half*B+l]
                               : column == 1 ? load_pair[half] : 33'd0;
      always_ff @(posedge clk) begin
        out <= memory[address];
        if (by_step) memory[write_address] <= in;
        else if (by_load) memory[load_address] <= in;
      end
      for (genvar half = 0; half < 2; half++) begin : g_half
        assign bank_row[x][0][half*B+l] = out[0][half];
        assign bank_row[x][1][half*B+l] = out[1][half];
      end
    end
  end

  always_ff @(posedge clk) begin
    bank_late <= {bank_late[0], read_bank};
    drain_late <= drain_bank;
    address_late <= {address_late[0], read_address};
    row <= bank_row[bank_late[0]];
    drain_row <= bank_row[drain_late];
  end
  always_ff @(posedge clk)
    if (!rst_n) valid <= '0;
    else valid <= {valid[0], read_valid};
  assign row_valid = valid[1];

  // The copies wait for their products in order.
  logic [ROW_BITS+AW:0] flight[FLIGHT];
  logic [ROW_BITS+AW:0] head;
  logic [FW-1:0] put_at, take_at, next_take;
  assign next_take = product_valid ? take_at + 1'b1 : take_at;
  always_ff @(posedge clk) begin
    if (row_valid) flight[put_at] <= {bank_late[1], address_late[1], row};
    head <= flight[next_take];
  end
  always_ff @(posedge clk)
    if (!rst_n) begin
      put_at <= '0;
      take_at <= '0;
    end else begin
      if (row_valid) put_at <= put_at + 1'b1;
      take_at <= next_take;
    end

  logic [1:0][2*B-1:0][32:0] copy;
  assign copy = head[ROW_BITS-1:0];
  always_ff @(posedge clk) begin
    {write_bank, write_address} <= head[ROW_BITS+AW:ROW_BITS];
    for (int column = 0; column < 2; column++)
      for (int lane = 0; lane < 2 * B; lane++)
        write_row[column][lane] <= add_mod(copy[column][lane], product[column][lane]);
  end
  always_ff @(posedge clk)
    if (!rst_n) write_valid <= 1'b0;
    else write_valid <= product_valid;

endmodule
