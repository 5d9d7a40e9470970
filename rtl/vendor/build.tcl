# Synthesises, places and routes whorl_core out of context with Vivado, without a project.
#
#   vivado -mode batch -source rtl/vendor/build.tcl -tclargs [-part PART] [-out FOLDER] [-to synth|route] [NAME=VALUE ...]
#
# NAME is a parameter of rtl/README.md, section 2; those that are not named keep the values of whorl_core.sv.
# Reports and checkpoints lie in FOLDER: utilisation by hierarchy, timing, power.

set part xcvu13p-fhga2104-2-i
set out build/vendor
set to route
set generics {}
set known {LOG_N L LOG_BG M PES LOG_B K MAX_N_LWE L_KS LOG_BKS KS_LANES MEM_BITS BK_PORTS KSK_BITS BK_BUFFERS KSK_ROWS}

for {set i 0} {$i < [llength $argv]} {incr i} {
    set argument [lindex $argv $i]
    switch -glob -- $argument {
        -part { set part [lindex $argv [incr i]] }
        -out { set out [lindex $argv [incr i]] }
        -to { set to [lindex $argv [incr i]] }
        *=* {
            lassign [split $argument =] name value
            if {$name ni $known} { error "there is no parameter $name; known are $known" }
            if {![string is integer -strict $value]} { error "$name is $value, which is no integer" }
            lappend generics $argument
        }
        default { error "unknown argument $argument" }
    }
}
if {$to ni {synth route}} { error "-to is $to, but must be synth or route" }

set here [file dirname [file normalize [info script]]]
set src [file join [file dirname $here] src]
file mkdir $out

# The package comes first.
read_verilog -sv [concat [list [file join $src whorl_pkg.sv]] [lsort [glob [file join $src * *.sv]]]]
read_xdc [file join $here whorl_core.xdc]

synth_design -top whorl_core -part $part -mode out_of_context -flatten_hierarchy rebuilt -generic $generics
write_checkpoint -force [file join $out synthesised.dcp]
report_utilization -hierarchical -hierarchical_depth 4 -file [file join $out utilisation_synthesised.txt]
report_timing_summary -max_paths 20 -file [file join $out timing_synthesised.txt]

if {$to eq "route"} {
    opt_design
    place_design
    phys_opt_design
    route_design
    phys_opt_design
    write_checkpoint -force [file join $out routed.dcp]
    report_utilization -hierarchical -hierarchical_depth 4 -file [file join $out utilisation_routed.txt]
    report_utilization -slr -file [file join $out utilisation_dies.txt]
    report_timing_summary -max_paths 20 -file [file join $out timing_routed.txt]
    report_power -file [file join $out power_routed.txt]
    report_drc -file [file join $out drc_routed.txt]
}
