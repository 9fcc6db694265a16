// The judge's own kernels, run as PTX.
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

using support::Device;

std::string judge_text() {
  std::ifstream file("kernels/trusted/judge.cu");
  std::ostringstream text;
  text << file.rdbuf();
  return trusted_text() + text.str();
}

TEST_CASE("What was never written is told from numbers that sums may reach") {
  struct Row {
    DType type;
    int inside;  // of judge.cu's FillState: 1 poison, 3 large
    std::uint64_t word;
    std::uint64_t told;  // of 256 elements
  };
  constexpr std::uint64_t poison = 0xDE5A7F437FC0DE5Aull, large = 0x7149F2CA7149F2CAull;
  const Row row = GENERATE(from_range(std::vector<Row>{{DType::f32, 1, poison, 256},
                                                       {DType::f32, 3, large, 256},
                                                       {DType::bf16, 1, poison, 256},
                                                       {DType::bf16, 3, large, 256},
                                                       {DType::f16, 1, poison, 128},
                                                       {DType::f16, 3, large, 0},
                                                       {DType::f32, 1, large, 0}}));
  Task task;
  task.axes = {{"n", AxisKind::free}};
  task.tensors = {{.name = "x", .role = Role::out, .type = row.type, .shape = {"n"}}};
  const FillParams params = *fill_params(task, 0, {.sizes = {{"n", 256}}}, {});
  Device device;
  const std::size_t memory =
      device.input("x", std::vector<std::uint64_t>(size_of(row.type) * 256 / 8, row.word));
  const std::size_t found = device.output("found", 8);
  device.memory.mark_written(found);
  const ptx::Report report =
      device.run(support::module_of_cuda(judge_text()), "count_poison", {.x = 1}, {.x = 256}, 0,
                 Device::Pointer{memory}, params, row.inside, Device::Pointer{found});
  INFO(name_of(row.type) << " " << row.inside);
  REQUIRE(support::faults_of(report) == "");
  CHECK(device.values<std::uint64_t>(found)[0] == row.told);
}

}  // namespace
}  // namespace cupilot
