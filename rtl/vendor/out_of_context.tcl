# For a project of FuseSoC: whorl_core has more ports than a chip has pads, so that it is synthesised without pads.
set_property -name {STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS} -value {-mode out_of_context} -objects [get_runs synth_1]
