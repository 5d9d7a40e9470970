// Product modulo p = 2^33 - 2^20 + 1.
// In: a, b below p. Out: r = a·b mod p, MUL_LATENCY = 9 enabled cycles later; one product a cycle.
// The four partial products, 26x17, 26x16, 7x17 and 7x16 bits, fit one DSP48E2 each. The reduction
// needs additions only: with z = a·b,
//   c = z[45:33] + z[58:46] + z[65:59],  d = z[65:33] + z[65:46] + z[65:59],
//   e = c[14:13] + c[12:0],  f = (e[13] + e[12:0])·2^20 - e[13] - c[14:13],
//   t = f + z[32:0] - d is congruent to z and lies in (-p, 2p + 2^20).
module mod_mul
  import whorl_pkg::*;
(
    input  logic        clk,
    input  logic        en,  // all registers stand still while it is 0
    input  logic [32:0] a,
    input  logic [32:0] b,
    output logic [32:0] r
);
  logic [32:0] a1, b1;
  logic [42:0] low_low2;
  logic [41:0] low_high2;
  logic [23:0] high_low2;
  logic [22:0] high_high2;
  logic [58:0] low3;
  logic [39:0] high3;
  logic [65:0] z4;
  logic [14:0] c5;
  logic [33:0] d5;
  logic [32:0] low5;
  logic [13:0] e6;
  logic [1:0] c6;
  logic signed [35:0] rest6, t7, t8;
  logic [32:0] r9;

  logic [13:0] e_next;
  logic [12:0] f_high;
  assign e_next = {12'd0, c5[14:13]} + {1'b0, c5[12:0]};
  assign f_high = {12'd0, e6[13]} + e6[12:0];

  localparam logic signed [35:0] P_SIGNED = {3'b000, P};

  always_ff @(posedge clk) if (en) begin
    a1 <= a;
    b1 <= b;
    low_low2 <= {17'd0, a1[25:0]} * {26'd0, b1[16:0]};
    low_high2 <= {16'd0, a1[25:0]} * {26'd0, b1[32:17]};
    high_low2 <= {17'd0, a1[32:26]} * {7'd0, b1[16:0]};
    high_high2 <= {16'd0, a1[32:26]} * {7'd0, b1[32:17]};
    low3 <= {16'd0, low_low2} + {low_high2, 17'd0};
    high3 <= {16'd0, high_low2} + {high_high2, 17'd0};
    z4 <= {7'd0, low3} + {high3, 26'd0};
    c5 <= {2'd0, z4[45:33]} + {2'd0, z4[58:46]} + {8'd0, z4[65:59]};
    d5 <= {1'b0, z4[65:33]} + {14'd0, z4[65:46]} + {27'd0, z4[65:59]};
    low5 <= z4[32:0];
    e6 <= e_next;
    c6 <= c5[14:13];
    rest6 <= $signed({3'd0, low5}) - $signed({2'd0, d5});
    t7 <= $signed({3'd0, f_high, 20'd0}) + (rest6 - $signed({34'd0, c6}) - $signed({35'd0, e6[13]}));
    t8 <= t7 < 0 ? t7 + P_SIGNED : t7 >= P_SIGNED ? t7 - P_SIGNED : t7;
    r9 <= t8 >= P_SIGNED ? 33'(t8 - P_SIGNED) : t8[32:0];
  end
  assign r = r9;
endmodule
