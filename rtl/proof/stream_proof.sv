// Streams: what is taken comes out, in order, once; valid stays and data stands still until taken.
// A reset may come in any cycle. Proved by induction, for the shapes that run.py names.
module fifo_order #(
    parameter int WIDTH = 4,
    parameter int DEPTH = 4
) (
    input logic clk,
    input logic rst_n,
    input logic in_valid,
    input logic [WIDTH-1:0] in_data,
    input logic out_ready
);
  localparam int CW = $clog2(DEPTH) + 1;
  logic in_ready, out_valid;
  logic [WIDTH-1:0] out_data;
  logic [CW-1:0] space;
  stream_fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) dut (.clk, .rst_n, .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data, .space);

  logic started;
  from_reset begins (.clk, .rst_n, .started);
  stays #(.WIDTH(WIDTH)) out_stays (.clk, .rst_n, .valid(out_valid), .ready(out_ready), .data(out_data));
  logic [DEPTH-1:0][WIDTH-1:0] model;  // what is in the queue, the oldest first
  logic [DEPTH-1:0][WIDTH-1:0] next_model;
  logic [CW-1:0] count;
  logic put, take;
  assign put = in_valid && in_ready;
  assign take = out_valid && out_ready;
  always_comb begin
    next_model = take ? model >> WIDTH : model;
    for (int i = 0; i < DEPTH; i++) if (put && CW'(i) == count - CW'(take)) next_model[i] = in_data;
  end
  always_ff @(posedge clk) begin
    model <= next_model;
    count <= !rst_n ? '0 : count + CW'(put) - CW'(take);
    if (started) begin
      assert (in_ready == (count != CW'(DEPTH)));
      assert (out_valid == (count != 0));
      assert (space == CW'(DEPTH) - count);
      if (out_valid) assert (out_data == model[0]);
      // What makes the induction go through.
      assert (count <= CW'(DEPTH) && dut.count == count);
      assert (dut.put_at == dut.take_at + (CW - 1)'(count));
      for (int i = 0; i < DEPTH; i++)
        if (CW'(i) < count) assert (dut.memory[(CW-1)'(dut.take_at + (CW-1)'(i))] == model[i]);
    end
  end
endmodule

module beat_words_order #(
    parameter int DATA_BITS = 32,
    parameter int WIDTH = 8
) (
    input logic clk,
    input logic rst_n,
    input logic in_valid,
    input logic [DATA_BITS-1:0] in_data,
    input logic out_ready,
    input logic skip
);
  localparam int WORDS = DATA_BITS / WIDTH;
  logic in_ready, out_valid;
  logic [WIDTH-1:0] out_word;
  beat_words #(.DATA_BITS(DATA_BITS), .WIDTH(WIDTH)) dut (.clk, .rst_n, .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_word, .skip);
  logic started;
  from_reset begins (.clk, .rst_n, .started);
  stays #(.WIDTH(WIDTH)) out_stays (.clk, .rst_n, .valid(out_valid), .ready(out_ready), .data(out_word));
  logic [DATA_BITS-1:0] beat;
  int at;  // of the word that is next; WORDS: none
  always_ff @(posedge clk) begin
    if (!rst_n) at <= WORDS;
    else if (in_valid && in_ready) begin
      beat <= in_data;
      at <= 0;
    end else if (out_valid && out_ready) at <= skip ? WORDS : at + 1;
    if (started) begin
      assert (out_valid == (at < WORDS));
      assert (in_ready == (at == WORDS));
      if (out_valid) assert (out_word == beat[at*WIDTH+:WIDTH]);
      assert (at >= 0 && at <= WORDS && int'(dut.left) == WORDS - at);
      if (out_valid) assert (dut.beat == beat >> (at * WIDTH));
    end
  end
endmodule

module word_beats_order #(
    parameter int DATA_BITS = 32,
    parameter int WIDTH = 8
) (
    input logic clk,
    input logic rst_n,
    input logic in_valid,
    input logic [WIDTH-1:0] in_word,
    input logic in_last,
    input logic out_ready
);
  localparam int WORDS = DATA_BITS / WIDTH;
  logic in_ready, out_valid;
  logic [DATA_BITS-1:0] out_data;
  word_beats #(.DATA_BITS(DATA_BITS), .WIDTH(WIDTH)) dut (.clk, .rst_n, .in_valid, .in_ready, .in_word, .in_last, .out_valid, .out_ready, .out_data);
  logic started;
  from_reset begins (.clk, .rst_n, .started);
  stays #(.WIDTH(DATA_BITS)) out_stays (.clk, .rst_n, .valid(out_valid), .ready(out_ready), .data(out_data));
  logic [DATA_BITS-1:0] beat, with_word;  // words so far, zeros above
  int at;
  logic full;
  assign with_word = beat | (DATA_BITS'(in_word) << (at * WIDTH));
  always_ff @(posedge clk) begin
    if (!rst_n) begin
      at <= 0;
      full <= 0;
      beat <= '0;
    end else if (in_valid && in_ready) begin
      beat <= with_word;
      at <= at + 1;
      full <= in_last || at == WORDS - 1;
    end else if (out_valid && out_ready) begin
      at <= 0;
      full <= 0;
      beat <= '0;
    end
    if (started) begin
      assert (out_valid == full && in_ready == !full);
      if (out_valid) assert (out_data == beat);
      assert (at >= 0 && at <= WORDS && (full || at < WORDS));
      assert (int'(dut.at) == (full ? 0 : at));
      if (at == 0) assert (beat == '0);
      if (!full && at != 0) assert (out_data == beat);
      for (int w = 0; w < WORDS; w++) if (!full && w >= at) assert (beat[w*WIDTH+:WIDTH] == '0);
    end
  end
endmodule

// `mac` and `bku`: as many rows come out as go in, both inputs go in together. Products are cut.
module mac_stream #(
    parameter int L = 2
) (
    input logic clk,
    input logic rst_n,
    input logic digits_valid,
    input logic [2*L-1:0][1:0][32:0] digits,
    input logic bundle_valid,
    input logic [4*L-1:0][1:0][32:0] bundle,
    input logic out_ready
);
  logic digits_ready, bundle_ready, out_valid;
  logic [1:0][1:0][32:0] product;
  mac #(.LOG_B(0), .L(L)) dut (.clk, .rst_n, .digits_valid, .digits_ready, .digits, .bundle_valid, .bundle_ready, .bundle, .out_valid, .out_ready, .product);
  localparam int STAGES = whorl_pkg::mac_latency(L);
  logic taken;
  assign taken = digits_valid && digits_ready;
  pipeline_rules #(.WIDTH(132), .STAGES(STAGES)) rules (.clk, .rst_n, .taken, .valid(dut.valid), .out_ready, .data(product));
  always_ff @(posedge clk) if (rst_n) assert (taken == (bundle_valid && bundle_ready));
endmodule

module bku_stream #(
    parameter int M = 2
) (
    input logic clk,
    input logic rst_n,
    input logic factors_valid,
    input logic [(1<<M)-2:0][1:0][32:0] factors,
    input logic key_valid,
    input logic [(1<<M)-2:0][3:0][1:0][32:0] key,
    input logic out_ready
);
  logic factors_ready, key_ready, out_valid;
  logic [3:0][1:0][32:0] bundle;
  bku #(.LOG_B(0), .L(1), .M(M)) dut (.clk, .rst_n, .factors_valid, .factors_ready, .factors, .key_valid, .key_ready, .key, .out_valid, .out_ready, .bundle);
  localparam int STAGES = whorl_pkg::bku_latency(M);
  logic taken;
  assign taken = factors_valid && factors_ready;
  pipeline_rules #(.WIDTH(264), .STAGES(STAGES)) rules (.clk, .rst_n, .taken, .valid(dut.valid), .out_ready, .data(bundle));
  always_ff @(posedge clk) if (rst_n) assert (taken == (key_valid && key_ready));
endmodule

// A transform stands still while its output is not taken, if its input, too, stays until it is taken.
module transform_stream #(
    parameter bit INVERSE = 0,
    parameter int LOG_N = 6
) (
    input logic clk,
    input logic rst_n,
    input logic in_valid,
    input logic [1:0][32:0] in_row,
    input logic out_ready
);
  logic in_ready, out_valid;
  logic [1:0][32:0] out_row;
  if (INVERSE) begin : g_backward
    intt #(.LOG_N(LOG_N), .LOG_B(0)) dut (.clk, .rst_n, .in_valid, .in_ready, .in_row, .out_valid, .out_ready, .out_row);
  end else begin : g_forward
    ntt #(.LOG_N(LOG_N), .LOG_B(0)) dut (.clk, .rst_n, .in_valid, .in_ready, .in_row, .out_valid, .out_ready, .out_row);
  end
  logic started;
  from_reset begins (.clk, .rst_n, .started);
  stays #(.GIVEN(1)) in_stays (.clk, .rst_n, .valid(in_valid), .ready(in_ready), .data(1'b0));
  stays #(.WIDTH(66)) out_stays (.clk, .rst_n, .valid(out_valid), .ready(out_ready), .data(out_row));
endmodule
