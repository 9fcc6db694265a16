// A launch whose result nobody wants any more.
#include <chrono>
#include <thread>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;

namespace {

const std::string loops = R"(
#define K extern "C" __global__ void
K forever(int* o) { volatile int x = 1; while (x != 0) x = x + 2; o[0] = x; }
K short_blocks(int* o) { if (threadIdx.x == 7777) o[0] = 1; }
K barriers(int* o) { volatile int x = 1; while (x != 0) { __syncthreads(); x = x + 2; } o[0] = x; }
)";

struct Stopped {
  cupilot::Attempt<ptx::Report> report;
  double seconds = 0;
};

// Runs a kernel that would go on for minutes, until `stop` is set.
Stopped run_until(const std::atomic<bool>& stop, const char* entry, std::uint32_t blocks,
                  std::uint32_t threads) {
  Device d;
  const auto out = d.output("o", 8);
  const auto module = module_of_cuda(loops);
  auto program = ptx::make_program(module, entry);
  REQUIRE(program);
  ptx::Launch launch{.grid = {blocks}, .block = {64}, .parameters = {}};
  launch.parameters.resize(8);
  const std::uint64_t address = d.memory.address(out);
  std::memcpy(launch.parameters.data(), &address, 8);
  d.options.instruction_budget = 1ull << 33;
  d.options.threads = threads;
  d.options.stop = {&stop};
  const auto began = std::chrono::steady_clock::now();
  auto report = ptx::execute(**program, d.memory, launch, d.options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  return {std::move(report), took.count()};
}

}  // namespace

TEST_CASE("a launch that is stopped is an error and no fault of the kernel", "[threads]") {
  struct Row {
    const char* entry;
    std::uint32_t blocks, threads;
  };
  for (const Row& row : {Row{"forever", 1, 1}, Row{"forever", 8, 4}, Row{"barriers", 4, 1},
                         Row{"short_blocks", 1u << 30, 1}, Row{"short_blocks", 1u << 27, 4}}) {
    CAPTURE(row.entry, row.blocks, row.threads);
    std::atomic<bool> stop{false};
    std::jthread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      stop = true;
    });
    const Stopped ran = run_until(stop, row.entry, row.blocks, row.threads);
    REQUIRE(ran.report.is_error());
    CHECK(ran.report.error().message == cupilot::stopped_error().message);
    CHECK(ran.seconds < 2);
    // And before it begins.
    CHECK(run_until(stop, row.entry, row.blocks, row.threads).report.is_error());
  }
}
