# Constraints of whorl_core, synthesised out of context: its ports meet other logic on the chip, not pads.
# One clock. The neighbours' registers may take 1 ns of a cycle before inputs, and 1 ns after outputs.
create_clock -name aclk -period 5.555 [get_ports aclk]
set_clock_uncertainty 0.150 [get_clocks aclk]
set_input_delay -clock aclk -max 1.000 [get_ports -filter {DIRECTION == IN && NAME != "aclk"}]
set_input_delay -clock aclk -min 0.000 [get_ports -filter {DIRECTION == IN && NAME != "aclk"}]
set_output_delay -clock aclk -max 1.000 [get_ports -filter {DIRECTION == OUT}]
set_output_delay -clock aclk -min 0.000 [get_ports -filter {DIRECTION == OUT}]
