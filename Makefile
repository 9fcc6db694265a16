# The two commands of a fresh machine are `make evolve` and `make test`; both install what they need.
BUILD := build/release
JOBS ?= $(shell nproc)
# The task that `make evolve` evolves: make evolve TASK="gemm m=4096 n=4096 k=4096 dtype=bf16".
TASK ?= gemm m=512 n=512 k=512 dtype=fp32
DEVICE ?= auto
EVALUATIONS ?= 120
SECONDS_LIMIT ?= 85
# Seconds of each fuzz target; percent of a campaign's rows that `make sample` draws, and the seed that draws them.
FUZZ_SECONDS ?= 60
SAMPLE ?= 4
SEED ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo 1)

# clang is faster where its heap lies in large pages and is never given back.
CLANG_HEAP := glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864:glibc.malloc.trim_threshold=1073741824:glibc.malloc.mmap_threshold=1073741824
BUILD_WITH := GLIBC_TUNABLES=$(CLANG_HEAP) cmake --build -j $(JOBS) --preset

.PHONY: evolve build all test check nightly sample bench campaigns sanitize thread fuzz lint docs deb format bootstrap clean

evolve: build
	$(BUILD)/cli/cupilot evolve $(TASK) --device $(DEVICE) --evaluations $(EVALUATIONS) --seconds $(SECONDS_LIMIT)

build:
	@scripts/bootstrap build
	@mkdir -p build
	@cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; exit 4; }
	@$(BUILD_WITH) release --target cupilot_cli cupilot_worker

bootstrap:
	@scripts/bootstrap test

all: bootstrap
	cmake --preset release
	$(BUILD_WITH) release

test: all
	ctest --preset release -j $(JOBS)

# What .ci/run runs beside `make test`.
check: lint docs sanitize sample

# What takes hours or finds little: everything under ThreadSanitizer, whole campaigns, long fuzzing.
nightly: thread campaigns fuzz

# A drawn part of `nightly`: rows of the campaigns, one program under ThreadSanitizer, seconds of fuzzing.
sample: all
	CUPILOT_SAMPLE=$(SAMPLE) CUPILOT_SAMPLE_SEED=$(SEED) ctest --preset campaigns -FC reached -j $(JOBS)
	$(MAKE) fuzz FUZZ_SECONDS=2
	cmake --preset thread
	program=$$(scripts/draw $(SEED) base llm); \
	$(BUILD_WITH) thread --target test_$$program && ctest --preset thread -R "^$$program$$"

# Thousands of kernels through the whole pipe: hostile, honest and slightly wrong ones. With the notes that `make test` left
# they say whether every rejection code was reached.
campaigns: all
	ctest --preset campaigns -j $(JOBS)

# Programs that measure rather than check; they must build.
bench: bootstrap
	cmake --preset release
	$(BUILD_WITH) release --target bench

# All tests but campaigns, documents and installation under AddressSanitizer with UndefinedBehaviorSanitizer; under
# ThreadSanitizer those that start threads.
sanitize thread: bootstrap
	cmake --preset $@
	$(BUILD_WITH) $@
	ctest --preset $@ -j $(JOBS)

# Malformed PTX against the virtual device, and malformed texts against each parser; what crashes them stays in build/sanitize.
fuzz: bootstrap
	cmake --preset sanitize
	$(BUILD_WITH) sanitize --target test_fuzz
	cd build/sanitize && export ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=abort_on_error=1 CUPILOT_FUZZ_SECONDS=$(FUZZ_SECONDS) && \
	printf '%s\0' "PTX changed at random*" "every parser*" | xargs -0 -n 1 -P 2 tests/test_fuzz

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
	git ls-files '*.hpp' '*.cpp' 'include/*.h' | xargs clang-format-14 -i
	scripts/format-kernels

clean:
	rm -rf build
