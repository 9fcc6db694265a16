// The judge's own kernels, run as PTX.
#include <cstring>
#include <fstream>
#include <iterator>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

using support::Device;

std::string judge_text() {
  std::string text = trusted_text();
  for (const char* name : {"words.cuh", "judge.cu"}) {
    std::ifstream file(std::string(CUPILOT_SOURCE_DIR "/kernels/trusted/") + name);
    text += without_includes(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return text;
}

Task task_of(DType type) {
  Task task;
  task.axes = {{"n", AxisKind::free}};
  task.tensors = {{.name = "x", .role = Role::out, .type = type, .shape = {"n"}}};
  return task;
}

// As in judge.cu.
struct Draw {
  std::uint64_t begins;
  long long slice, held, count;
  unsigned long long key;
};
struct Extreme {
  std::uint64_t memory;
  FillParams layout;
};
struct Tally {
  unsigned long long failed, worst, one_term, inexact, inexact_error;
};
struct Worst {
  unsigned long long failed;
  long long index;
  double ratio, got, want, bound;
};

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
  const FillParams params = *fill_params(task_of(row.type), 0, {.sizes = {{"n", 256}}}, {});
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

TEST_CASE("A tensor is filled, and its elements that changed since are counted") {
  for (const DType type : {DType::f32, DType::bf16, DType::e4m3, DType::f64}) {
    INFO(name_of(type));
    const FillParams params = *fill_params(task_of(type), 0, {.sizes = {{"n", 300}}}, {.seed = 5});
    Device device;
    const std::size_t memory = device.output("x", size_of(type) * 300);
    const auto module = support::module_of_cuda(judge_text());
    const auto run = [&](std::uint64_t counter) {
      const ptx::Report report = device.run(module, "fill_tensor", {.x = 2}, {.x = 128}, 0,
                                            Device::Pointer{memory}, params, counter);
      return support::faults_of(report);
    };
    REQUIRE(run(0) == "");
    std::vector<std::byte> expected(size_of(type) * 300);
    fill(params, expected);
    CHECK(std::memcmp(device.memory.data(memory).data(), expected.data(), expected.size()) == 0);
    const std::size_t count = device.output("count", 8);
    std::memset(device.memory.data(count).data(), 0, 8);
    device.memory.mark_written(count);
    for (const std::size_t at : {0, 7, 299}) {
      device.memory.data(memory)[at * size_of(type)] ^= 1;
    }
    REQUIRE(run(device.memory.address(count)) == "");
    CHECK(device.values<std::uint64_t>(count)[0] == 3);
  }
}

TEST_CASE("Outputs are compared, and one thread describes the worst element") {
  struct Row {
    std::vector<std::pair<int, float>> errors;  // of elements
    unsigned long long failed;
    long long worst;
  };
  for (const Row& row :
       {Row{{}, 0, 0}, Row{{{3, 1.0f}}, 1, 3}, Row{{{299, 2.0f}, {5, 1.0f}}, 2, 299},
        Row{{{17, 0.25f}, {130, -0.5f}, {131, 0.5f}}, 3, 130}}) {
    const Task task = task_of(DType::f32);
    const Workload workload{.sizes = {{"n", 300}}};
    const FillParams params = *fill_params(task, 0, workload, {});
    const BoundParams bound = *bound_params(task, 0, workload, {});
    std::vector<float> got(300, 4.0f);
    for (const auto& [at, error] : row.errors) got[static_cast<std::size_t>(at)] += error;
    Device device;
    const std::size_t memory = device.input("x", got);
    const std::size_t values = device.input("values", std::vector<double>(300, 4.0));
    const std::size_t sums = device.input("sums", std::vector<double>(300, 4.0));
    const std::size_t begins = device.input("begins", std::vector<long long>{0});
    const std::size_t tally = device.output("tally", sizeof(Tally));
    const std::size_t worst = device.output("worst", sizeof(Worst));
    std::memset(device.memory.data(tally).data(), 0, sizeof(Tally));
    device.memory.mark_written(tally);
    const Draw draw{device.memory.address(begins), 300, 300, 300, 0};
    const auto run = [&](std::uint32_t blocks, std::uint64_t described) {
      const ptx::Report report = device.run(
          support::module_of_cuda(judge_text()), "compare_output", {.x = blocks}, {.x = 128}, 0,
          Device::Pointer{memory}, params, bound, Extreme{0, params}, draw, Device::Pointer{values},
          Device::Pointer{sums}, Device::Pointer{tally}, described);
      return support::faults_of(report);
    };
    REQUIRE(run(3, 0) == "");
    REQUIRE(run(1, device.memory.address(worst)) == "");
    const Worst found = device.values<Worst>(worst)[0];
    CHECK(found.failed == row.failed);
    if (row.failed == 0) continue;
    CHECK(found.index == row.worst);
    CHECK(found.want == 4.0);
    CHECK(found.got == got[static_cast<std::size_t>(row.worst)]);
    CHECK(found.ratio > 1);
  }
}

}  // namespace
}  // namespace cupilot
