#include "backend/oracle/reference_values.hpp"

#include <cmath>
#include <cstring>

#include "backend/oracle/memory.hpp"
#include "catch.hpp"
#include "support/graph.hpp"
#include "support/kept_images.hpp"
#include "trusted/storage.cuh"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

std::unique_ptr<CompilePool> one_compiler() {
  BackendOptions options = testing::kept_images();
  options.compile_jobs = 1;
  return std::move(*CompilePool::open(options));
}

struct Oracle {
  std::unique_ptr<CompilePool> pool = one_compiler();
  VirtualInputs inputs{1 << 24};
  VirtualOracle values{*pool, "sm_90a", inputs, 1 << 24};
};

// Weights of rows of x w, applied to v.
Task weighted_task(Precision precision) {
  auto task = graph_task({input("x", {"rows", 4}), input("w", {4, "cols"}), input("v", {"cols", 8}),
                          output("y", {"rows", 8})},
                         {{"scores", "matmul", {"x", "w"}, {"s"}},
                          {"weights", "softmax", {"s"}, {"p"}, {{"dim", std::int64_t{-1}}}},
                          {"values", "matmul", {"p", "v"}, {"y"}}},
                         {{"rows", 2}, {"cols", 5}}, precision);
  REQUIRE(task);
  return *task;
}

std::vector<std::byte> floats(std::size_t count, float by) {
  std::vector<std::byte> bytes(count * 4);
  for (std::size_t i = 0; i < count; ++i) {
    const float value = by * static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
    std::memcpy(bytes.data() + i * 4, &value, 4);
  }
  return bytes;
}
void set(std::vector<std::byte>& bytes, std::size_t at, float value) {
  std::memcpy(bytes.data() + at * 4, &value, 4);
}

TEST_CASE("a key whose score is minus infinity leaves the bound of the others", "[virtual]") {
  Oracle oracle;
  std::vector<std::vector<std::byte>> tensors = {
      floats(8, 0.1f), floats(20, 0.2f), floats(40, 0.3f), {}};
  for (std::size_t i = 0; i < 8; ++i) set(tensors[0], i, 0.5f + 0.1f * static_cast<float>(i));
  const auto rows = [&](Precision precision, float of_key) {
    for (std::size_t d = 0; d < 4; ++d) set(tensors[1], d * 5 + 2, of_key);
    const TaskRef task(weighted_task(precision));
    auto values = oracle.values.over(task, task->time_shapes.front(), tensors);
    if (!values) FAIL(values.error().message);
    return values->front();
  };
  for (const Precision precision : {Precision::fp32_strict, Precision::fp32_emulated}) {
    const ReferenceValues far = rows(precision, -1e6f), none = rows(precision, -HUGE_VALF);
    for (std::size_t i = 0; i < 16; ++i) {
      INFO(i << " " << none.values[i] << " " << none.sums[i]);
      CHECK(none.values[i] == Approx(far.values[i]));
      // The class that splits an infinity may make NaN of it.
      CHECK(std::isnan(none.sums[i]) == (precision == Precision::fp32_emulated));
      const double sum =
          std::isnan(none.sums[i]) ? kept_of_nan(none.sums[i]) : std::fabs(none.sums[i]);
      CHECK(sum == Approx(std::fabs(far.sums[i])));
    }
  }
}

TEST_CASE("stages without room are too dear under a budget and an error without", "[virtual]") {
  Oracle oracle;
  const TaskRef task(weighted_task(Precision::fp32_strict));
  const Workload& shape = task->time_shapes.front();
  const std::vector<std::byte> tensors[] = {floats(8, 0.1f), floats(20, 0.2f), floats(40, 0.3f)};
  const auto asked = [&](std::uint64_t room, std::uint64_t budget) {
    ptx::DeviceMemory memory(room);
    std::vector<std::uint64_t> addresses(4);
    for (std::size_t i = 0; i < 3; ++i) {
      auto address = add_input(memory, "in", tensors[i]);
      REQUIRE(address);
      addresses[i] = *address;
    }
    return oracle.values.at(task, 3, shape, memory, addresses, {{0}, 16, 16}, budget);
  };
  const auto ample = asked(1 << 20, 1 << 20);
  REQUIRE(ample);
  CHECK(ample->has_value());
  const auto short_of = asked(272 + 512 + 64, 1 << 20);
  if (!short_of) FAIL(short_of.error().message);
  CHECK_FALSE(short_of->has_value());
  CHECK_FALSE(asked(272 + 512 + 64, 1ull << 40));
}

TEST_CASE("values that would take minutes are too dear before they are begun", "[virtual]") {
  Oracle oracle;
  const auto task = graph_task(
      {input("x", {4096, 4096}), input("w", {4096, "cols"}), output("y", {4096, "cols"})},
      {{"product", "matmul", {"x", "w"}, {"y"}}}, {{"cols", 4096}}, Precision::fp32_strict);
  REQUIRE(task);
  const std::vector<std::vector<std::byte>> nothing(3);
  const auto values = oracle.values.over(TaskRef(*task), task->time_shapes.front(), nothing);
  REQUIRE_FALSE(values);
  CHECK(values.error().code == ErrorCode::not_done);
  CHECK(values.error().message == "reference of task graph: too dear to check here at cols=4096");
}

}  // namespace
}  // namespace cupilot
