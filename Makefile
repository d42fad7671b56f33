# `make help` lists what there is.
BUILD := build
JOBS ?= $(shell nproc)
SOURCES = $(shell git ls-files '*.cc' '*.h')

.DEFAULT_GOAL := help
.PHONY: help setup build check test e2e frameworks soak simulate explore mutate fuzz demo bench image plugin format lint install clean

help: ## this list
	@sed -nE 's/^([a-z0-9]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## install the Debian packages that are missing
	@scripts/setup

build: setup ## build the program: build/cluster-watcher
	@scripts/build dev cluster-watcher

check: ## the quick loop: build what changed and run the unit tests; no downloads
	@scripts/build dev unit_tests
	@ctest --test-dir $(BUILD) -L unit -j $(JOBS) --output-on-failure --progress

test: ## all tests, against the small and against a real Kubernetes
	@scripts/setup image node go java prometheus shells
	@scripts/test

e2e: ## the image in pods, on a real node of its own; needs root
	@scripts/setup image node go
	@test/e2e/run

frameworks: ## real frameworks that compute in pods, and whose drivers are killed, on such a node; needs root
	@scripts/setup image node go java
	@scripts/build dev cluster-watcher
	@test/frameworks/node_test.sh $(BUILD)

image: ## the container image for amd64 and arm64: build-release/image and image.tar
	@scripts/setup image
	@scripts/image

plugin: ## the image, and kubectl's plugin made of it; URI is where its archives will be downloaded from
	@scripts/setup image
	@scripts/image
	@scripts/plugin '$(URI)'

simulate: ## SEEDS=100000 histories in virtual time, from seed FIRST (else from any); MUTATIONS=yes: does it notice faults?
	@scripts/setup $(if $(MUTATIONS),mutate)
	@scripts/build optimized simulation
	@$(if $(MUTATIONS),HISTORIES=$(or $(SEEDS),100000) scripts/mutate test/mutations/simulation.txt,\
	  build-optimized/test/simulation $(or $(SEEDS),100000) $(or $(FIRST),$(shell od -An -N4 -tu4 /dev/urandom)))

explore: ## every order of events in a small world, with EVENTS=1 by people and faults: STATES=50000000 at most
	@scripts/setup
	@scripts/build optimized explore
	@build-optimized/test/explore $(or $(EVENTS),1) $(or $(STATES),50000000)

mutate: ## puts FAULTS=400 faults, drawn with SEED, into a copy of the program (FILES): do the unit tests notice them?
	@scripts/setup mutate
	@scripts/mutate $(or $(FILES),$(wildcard watcher/*/*.cc watcher/*/*/*.cc probes/*.cc probes/*/*.cc metrics/*.cc))

soak: ## POLLS=1000000 polls of one process, and a day of a thousand sidecars: do memory and descriptors stay?
	@scripts/setup
	@POLLS=$(POLLS) scripts/soak

fuzz: setup ## fuzz what reads foreign text, SECONDS=60 for each target
	@scripts/fuzz $(or $(SECONDS),60)

demo: ## watch an abandoned cluster go (KUBERNETES=real, or KUBECONFIG=FILE)
	@scripts/setup $(if $(filter real,$(KUBERNETES)),go)
	@KUBECONFIG='$(if $(filter command,$(origin KUBECONFIG)),$(KUBECONFIG))' scripts/demo

bench: ## measure speed and size, beside others
	@scripts/setup image go
	@scripts/bench_goals
	@scripts/bench
	@scripts/bench_admission
	@scripts/bench_list
	@scripts/bench_sweep
	@scripts/bench_run
	@scripts/bench_rules

format: ## format all sources
	@scripts/setup lint
	clang-format-14 -i $(SOURCES)

lint: ## clang-tidy, each source by itself, the format and the size of all
	@scripts/setup lint
	test/bounds_test.sh
	clang-format-14 --dry-run --Werror $(SOURCES)
	@cmake --preset dev -B build-lint -DCMAKE_UNITY_BUILD=OFF -DCLUSTER_WATCHER_PRECOMPILE=OFF >/dev/null
	run-clang-tidy-14 -quiet -p build-lint '/(probes|watcher|metrics)/(?!admission/server/webhook_server).*\.cc$$'

install: build ## install the program below PREFIX (default /usr/local)
	cmake --install $(BUILD) --prefix $(or $(PREFIX),/usr/local)

clean: ## remove the build directories
	rm -rf build build-*
