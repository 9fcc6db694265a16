# The two commands of a fresh machine are `make evolve` and `make test`; both install what they need.
BUILD := build/release
JOBS ?= $(shell nproc)
# What `make evolve` evolves: override on the command line, e.g. make evolve TASK="gemm m=4096 n=4096 k=4096 dtype=bf16".
TASK ?= gemm m=512 n=512 k=512 dtype=fp32
DEVICE ?= auto
EVALUATIONS ?= 120
SECONDS_LIMIT ?= 85

# Clang is faster where its heap lies in large pages and is never given back: page faults are dear on virtual machines.
CLANG_HEAP := glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864:glibc.malloc.trim_threshold=1073741824:glibc.malloc.mmap_threshold=1073741824

BUILD_WITH := GLIBC_TUNABLES=$(CLANG_HEAP) cmake --build -j $(JOBS) --preset

# For each target.
FUZZ_SECONDS ?= 60

.PHONY: evolve build all test check bench campaigns sanitize thread fuzz lint docs deb format bootstrap clean

evolve: build
	$(BUILD)/cli/cupilot evolve $(TASK) --device $(DEVICE) --evaluations $(EVALUATIONS) --seconds $(SECONDS_LIMIT)

bootstrap:
	@scripts/bootstrap

build: bootstrap
	@mkdir -p build
	@cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; exit 4; }
	@$(BUILD_WITH) release --target cupilot_cli cupilot_worker

all: bootstrap
	cmake --preset release
	$(BUILD_WITH) release

test: all
	ctest --preset release -j $(JOBS)

check: lint docs campaigns sanitize fuzz thread

# Thousands of kernels through the whole pipe: the hostile, the honest and the slightly wrong. Beside the notes that `make test`
# left, these say whether every rejection code was reached.
campaigns: all
	ctest --preset campaigns -j $(JOBS)

# What measures rather than checks; it must build.
bench: bootstrap
	cmake --preset release
	$(BUILD_WITH) release --target bench

# Unit tests under AddressSanitizer with UndefinedBehaviorSanitizer, of whose own objects a release has most; then under
# ThreadSanitizer.
sanitize: all
sanitize thread: bootstrap
	cmake --preset $@
	$(BUILD_WITH) $@
	ctest --preset $@ -j $(JOBS)

# Malformed PTX against the virtual device, and malformed texts against each parser, under the same sanitizers; what crashes them
# stays in build/sanitize. The parsers take every processor, PTX one of them for its minute.
fuzz: sanitize
	cd build/sanitize && export ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=abort_on_error=1 CUPILOT_FUZZ_SECONDS=$(FUZZ_SECONDS) && \
	printf '%s\0' "PTX changed at random*" "every parser*" | xargs -0 -n 1 -P 2 tests/fuzz/test_fuzz

lint: bootstrap
	GLIBC_TUNABLES=$(CLANG_HEAP) scripts/lint

# The API reference, from the public headers into build/docs; what is undocumented or wrong stops it.
docs: bootstrap
	@mkdir -p build/docs
	doxygen docs/Doxyfile

# Debian packages in build/packages.
deb: all
	cpack -G DEB --config build/release/CPackConfig.cmake -B build/packages

format: bootstrap
	git ls-files '*.hpp' '*.cpp' | xargs clang-format-14 -i
	scripts/format-kernels

clean:
	rm -rf build
