# Everything sets itself up first: `make demo` and `make test` need git and Python >= 3.10 only.
export WHORL_VENV ?= .venv
export WHORL_BUILD ?= build/make
export WHORL_JOBS ?= $(shell nproc)

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-digits demo-lookup demo-logistic demo-mnist demo-resnet demo-rtl demo-sentiment demo-sign test test-full test-gpu gpu-bundle tune-gpu bench wheel docs docs-check docs-version lint format clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## system packages, virtual environment, Python module
	@tools/setup.sh test

demo:  ## a decision tree classifies encrypted irises
	@tools/setup.sh demo
	@$(WHORL_VENV)/bin/whorl demo

demo-digits:  ## encrypted handwritten digits classified by a network without bootstraps
	@tools/setup.sh demo
	@$(WHORL_VENV)/bin/whorl demo digits

demo-lookup:  ## rows of a table of 33,000, the server not learning which
	@tools/setup.sh demo
	@$(WHORL_VENV)/bin/whorl demo lookup

demo-logistic:  ## a model trained on encrypted digits; a part of it without a GPU
	@tools/setup.sh demo
	@$(WHORL_VENV)/bin/whorl demo logistic

demo-mnist:  ## encrypted handwritten digits classified by a network of look-up tables
	@tools/setup.sh demo
	@$(WHORL_VENV)/bin/whorl demo mnist-tables

demo-resnet:  ## a network recognises an encrypted picture; its first block without a GPU
	@tools/setup.sh demo
	@$(WHORL_VENV)/bin/whorl demo resnet

demo-rtl:  ## a full adder on encrypted bits, on the simulated FPGA accelerator
	@tools/setup.sh rtl
	@$(WHORL_VENV)/bin/whorl demo rtl

demo-sentiment:  ## a recurrent network judges 32 encrypted sentences
	@tools/setup.sh demo
	@$(WHORL_VENV)/bin/whorl demo sentiment

demo-sign:  ## encrypted 16-bit readings compared with encrypted thresholds, and rounded
	@tools/setup.sh demo
	@$(WHORL_VENV)/bin/whorl demo sign

test:  ## C++ tests, the accelerator's, lint, Python tests
	@tools/setup.sh test
	@tools/test.sh

test-full:  ## the same with clang, sanitizers, fuzzing, clang-tidy, slow tests and torch
	@tools/setup.sh test
	@tools/test.sh full

test-gpu:  ## every test of the CUDA backend; fails where no GPU can be used
	@tools/setup.sh test
	@tools/test.sh gpu

gpu-bundle:  ## TO=folder: GPU tests and benches for a machine that has a GPU but no compiler
	@tools/setup.sh test
	@tools/gpu-bundle.sh "$(TO)"

tune-gpu:  ## which numbers of the CUDA kernels are fastest on this machine's GPU
	@bench/tune/run.sh

bench:  ## milliseconds a gate and gates a second on this machine
	@tools/setup.sh demo
	@$(WHORL_VENV)/bin/whorl bench gates

wheel:  ## wheels for CPUs in build/wheels, tried in clean environments; uploads nothing
	@tools/setup.sh demo
	@tools/wheel/build.sh

docs:  ## the documentation site, in build/site
	@tools/setup.sh docs
	@NO_MKDOCS_2_WARNING=1 build/docs-venv/bin/mkdocs build --strict
	@echo "the site is in build/site; build/docs-venv/bin/mkdocs serve shows it"

docs-check: docs  ## the site in Chromium: search, width, contrast, keyboard, plots
	@tools/setup.sh docs-check
	@build/docs-venv/bin/python tools/docs/browse.py

docs-version:  ## commits the site as this version to the branch gh-pages, beside older ones
	@tools/setup.sh docs
	@PATH="$$PWD/build/docs-venv/bin:$$PATH" mike deploy --update-aliases \
	  "$$(sed -n 's/^  VERSION //p' CMakeLists.txt)" latest
	@PATH="$$PWD/build/docs-venv/bin:$$PATH" mike set-default latest

lint: setup  ## formatting, clang-tidy, ruff, mypy, includes, comments, commits
	@tools/lint.sh

format: setup  ## format C++ and Python
	@tools/format.sh
	@$(WHORL_VENV)/bin/ruff format --quiet python tests tools apps bench rtl
	@$(WHORL_VENV)/bin/ruff check --fix --quiet python tests tools apps bench rtl

clean:  ## remove what was built; the virtual environment stays
	rm -rf build
