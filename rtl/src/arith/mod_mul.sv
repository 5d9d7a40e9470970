// Product modulo p = 2^33 - 2^20 + 1.
// In: a, b below p. Out: r = a·b mod p, LATENCY = 9 or 8 enabled cycles later; one product a cycle.
// Three partial products, 26x17, 26x16 and 7x26 bits, fit one DSP48E2 each; the fourth, 7x7, is made of LUTs.
// With z = a·b, z[65:0] = z2·2^59 + z1·2^46 + z0·2^33 + low, and 2^33 = 2^20 - 1 modulo p,
//   w = z[65:46] + z2,  c = z0 + z1 + z2,  v = low - 2^13·w + 2^20·c - c
// is congruent to z and lies in (-p, 3p). t is v - p + 1 + 2^33: {~c, 00000, c} is 2^35 - 2^20 - (2^20·c - c), so that
// v + 2^20 takes no carry from elsewhere. A borrow of bits is an addition of their complements: an operand that is a
// register goes straight into a carry chain, and the other one through the LUT before it.
// r = v - q·p, q from -1 to 2, is t + (q - 1)·2^20 - q modulo 2^33. above[i] says that q is i or more.
module mod_mul
  import whorl_pkg::*;
#(
    parameter int LATENCY = MUL_LATENCY
) (
    input  logic        clk,
    input  logic        en,  // all registers stand still while it is 0
    input  logic [32:0] a,
    input  logic [32:0] b,
    output logic [32:0] r
);
  logic [32:0] a1, b1;
  logic [42:0] low_low2;
  logic [41:0] low_high2;
  logic [32:0] high_low2;
  logic [13:0] high_high3;
  logic [42:0] middle3;
  logic [42:0] low_low3;
  logic [65:0] z4;
  corner_mul high_high (.clk, .en, .a(a1[32:26]), .b(b1[32:26]), .product(high_high3));
  always_ff @(posedge clk) if (en) begin
    a1 <= a;
    b1 <= b;
    low_low2 <= {17'd0, a1[25:0]} * {26'd0, b1[16:0]};
    low_high2 <= {16'd0, a1[25:0]} * {26'd0, b1[32:17]};
    high_low2 <= {26'd0, a1[32:26]} * {7'd0, b1[25:0]};
    middle3 <= {1'b0, low_high2} + {1'b0, high_low2, 9'd0};
    low_low3 <= low_low2;
    z4 <= {high_high3, 9'd0, low_low3} + {6'd0, middle3, 17'd0};
  end

  logic [19:0] w_next, w;
  logic [45:0] z;
  logic carry;  // of the low 13 bits of w
  assign w_next = z4[65:46] + {13'd0, z4[65:59]};
  if (LATENCY == MUL_LATENCY) begin : g_split
    logic odd;
    assign carry = w[13] ^ odd;
    always_ff @(posedge clk) if (en) begin
      w <= w_next;
      z <= z4[45:0];
      odd <= z4[59];
    end
  end else begin : g_joined
    assign w = w_next;
    assign z = z4[45:0];
    assign carry = w[13] ^ z4[59];
  end

  logic [14:0] c;
  logic [33:0] rest;
  logic [34:0] t;
  logic [32:0] t_late;
  logic [2:0] above;
  logic low_any, low_many, high_any, high_all;
  assign low_many = t[19:1] != '0;
  assign low_any = low_many || t[0];
  assign high_any = t[32:20] != '0;
  assign high_all = t[32:20] == '1;
  always_ff @(posedge clk) if (en) begin
    c <= {1'b0, carry, w[12:0]} + {2'd0, z[45:33]};
    rest <= {{1'b0, z[32:13]} - {1'b0, w}, z[12:0]};
    t <= {rest[33], rest} - {~c, 5'd0, c};
    t_late <= t[32:0];
    above[0] <= t[34:33] == 2'd1 || t[34:33] == 2'd2 || (t[34:33] == 2'd0 && high_any);
    above[1] <= t[34:33] == 2'd2 || (t[34:33] == 2'd1 && (high_any || low_any));
    above[2] <= t[34:33] == 2'd2 || (t[34:33] == 2'd1 && high_all && low_many);
    r <= t_late + {{12{~above[2]}}, above[0] & ~above[2], {19{above[1]}},
                         ~above[0] | (above[1] & ~above[2])};
  end
endmodule
