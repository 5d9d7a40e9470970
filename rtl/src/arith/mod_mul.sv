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
  logic [13:0] high_high2;
  logic [42:0] middle3;
  logic [65:0] ends3, z4;
  always_ff @(posedge clk) if (en) begin
    a1 <= a;
    b1 <= b;
    low_low2 <= {17'd0, a1[25:0]} * {26'd0, b1[16:0]};
    low_high2 <= {16'd0, a1[25:0]} * {26'd0, b1[32:17]};
    high_low2 <= {26'd0, a1[32:26]} * {7'd0, b1[25:0]};
    high_high2 <= {7'd0, a1[32:26]} * {7'd0, b1[32:26]};
    middle3 <= {1'b0, low_high2} + {1'b0, high_low2, 9'd0};
    ends3 <= {high_high2, 9'd0, low_low2};
    z4 <= ends3 + {6'd0, middle3, 17'd0};
  end

  logic [19:0] w_next, w;
  logic [65:0] z;
  assign w_next = z4[65:46] + {13'd0, z4[65:59]};
  if (LATENCY == MUL_LATENCY) begin : g_split
    always_ff @(posedge clk) if (en) begin
      w <= w_next;
      z <= z4;
    end
  end else begin : g_joined
    assign w = w_next;
    assign z = z4;
  end

  logic [14:0] c;
  logic [33:0] rest;
  logic [34:0] t, t_late;
  logic [2:0] above;
  logic low_any, low_many, high_any, high_all;
  assign low_many = t[19:1] != '0;
  assign low_any = low_many || t[0];
  assign high_any = t[32:20] != '0;
  assign high_all = t[32:20] == '1;
  always_ff @(posedge clk) if (en) begin
    c <= {1'b0, w[13] ^ z[59], w[12:0]} + {2'd0, z[45:33]};
    rest <= {{1'b0, z[32:13]} - {1'b0, w}, z[12:0]};
    t <= {rest[33], rest} - {~c, 5'd0, c};
    t_late <= t;
    above[0] <= t[34:33] == 2'd1 || t[34:33] == 2'd2 || (t[34:33] == 2'd0 && high_any);
    above[1] <= t[34:33] == 2'd2 || (t[34:33] == 2'd1 && (high_any || low_any));
    above[2] <= t[34:33] == 2'd2 || (t[34:33] == 2'd1 && high_all && low_many);
    r <= t_late[32:0] + {{12{~above[2]}}, above[0] & ~above[2], {19{above[1]}},
                         ~above[0] | (above[1] & ~above[2])};
  end
endmodule
