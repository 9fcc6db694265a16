// The generated CUDA texts run as PTX: contents must be the host's bit for bit, references its
// values.
#include <cmath>
#include <numeric>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "task/host_gemm.hpp"
#include "task/reference/program.hpp"

namespace cupilot {
namespace {

using support::Device;

constexpr const char* fill_kernel = R"(
extern "C" __global__ void fill_kernel(cupilot::FillParams p, void* memory) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < p.elements) cupilot::store_bits(memory, cupilot::storage_offset(p, i), p.type, cupilot::fill_bits(p, i));
}
)";

ptx::Dim3 blocks_of(std::int64_t elements) {
  return {.x = static_cast<std::uint32_t>((elements + 255) / 256)};
}

struct Recipe {
  DType type;
  Fill fill;
  ContentKind content = ContentKind::ordinary;
};

std::vector<Recipe> recipes() {
  std::vector<Recipe> out;
  for (const DType type :
       {DType::f64, DType::f32, DType::bf16, DType::f16, DType::e4m3, DType::e5m2}) {
    out.push_back({type, {.kind = FillKind::normal, .low = 0.3, .high = 1.7}});
    out.push_back({type, {.kind = FillKind::uniform, .low = -0.7, .high = 2.1}});
    for (const ContentKind kind : {ContentKind::probe, ContentKind::huge_element,
                                   ContentKind::alternating, ContentKind::special}) {
      out.push_back({type, {}, kind});
    }
  }
  for (const FillKind kind : {FillKind::boolean, FillKind::signs, FillKind::one_hot_rows,
                              FillKind::unit_sum_rows, FillKind::ones}) {
    out.push_back({DType::f32, {.kind = kind}});
  }
  for (const DType type :
       {DType::i64, DType::i32, DType::i16, DType::i8, DType::u8, DType::boolean}) {
    out.push_back({type, {.kind = FillKind::integers, .below = 100}});
  }
  for (const Structure structure :
       {Structure::upper, Structure::lower, Structure::symmetric, Structure::diagonal}) {
    out.push_back({DType::f32, {.structure = structure}});
  }
  return out;
}

TEST_CASE("device content equals the host's bit for bit") {
  const auto module = support::module_of_cuda(trusted_text() + fill_kernel);
  for (const Recipe& recipe : recipes()) {
    Task task;
    task.axes = {{"n", AxisKind::reduced}};
    task.tensors = {{.name = "x",
                     .type = recipe.type,
                     .shape = {3, "n", "n"},
                     .strides = {"n*(n+1)", "n+1", 1},
                     .fill = recipe.fill}};
    const FillParams params =
        *fill_params(task, 0, {.sizes = {{"n", 13}}}, {.seed = 77, .kind = recipe.content});
    const auto bytes = static_cast<std::size_t>(params.span * storage_bytes(params.type));
    std::vector<std::byte> host(bytes, std::byte{0xF5});
    fill(params, host);
    Device device;
    const std::size_t memory = device.output("x", bytes);
    device.memory.mark_unwritten(memory, 0xF5);
    const ptx::Report report = device.run(module, "fill_kernel", blocks_of(params.elements),
                                          {.x = 256}, 0, params, Device::Pointer{memory});
    INFO(name_of(recipe.type) << " fill " << static_cast<int>(recipe.fill.kind) << " content "
                              << static_cast<int>(recipe.content));
    REQUIRE(support::faults_of(report) == "");
    CHECK(std::memcmp(device.memory.data(memory).data(), host.data(), bytes) == 0);
  }
}

// One build of a gemm's reference over elements [begin, begin + count).
struct Built {
  std::vector<double> values, sums;
  std::vector<std::uint8_t> output;
};
Built run_gemm(const host_gemm::Problem& p, ReferenceBuild build, std::int64_t begin,
               std::int64_t count) {
  const ReferenceProgram program = *reference_program(p.task, build);
  const auto module = support::module_of_cuda(program.text);
  Device device;
  std::vector<Device::Pointer> in;
  for (std::size_t i = 0; i + 1 < p.memory.size(); ++i)
    in.push_back({device.input(p.task.tensors[i].name, p.memory[i])});
  const std::size_t values = device.output("values", static_cast<std::size_t>(count) * 8);
  const std::size_t sums = device.output("sums", static_cast<std::size_t>(count) * 8);
  const std::size_t output = device.output("output", static_cast<std::size_t>(p.outputs()) * 8);
  const double alpha = p.task.scalars[0].value, beta = p.task.scalars[1].value;
  const long long batch = p.size("batch"), m = p.size("m"), n = p.size("n"), k = p.size("k"),
                  first = begin, number = count;
  const std::string entry = program.entries[0].entry;
  // A tracked build takes its elements in slices, as long as `slice` and the last shorter.
  const long long slice = (count + 2) / 3;
  std::vector<long long> begins;
  for (long long at = 0; at < count; at += slice) begins.push_back(first + at);
  const std::size_t slices = device.input("begins", begins);
  const auto launch = [&](ptx::Dim3 grid, auto... results) {
    const ptx::Dim3 block = {.x = 256};
    if (in.size() == 2) {
      return device.run(module, entry, grid, block, 0, in[0], in[1], alpha, beta, batch, m, n, k,
                        results...);
    }
    return device.run(module, entry, grid, block, 0, in[0], in[1], in[2], in[3], alpha, beta, batch,
                      m, n, k, results...);
  };
  ptx::Dim3 sliced = blocks_of(slice);
  sliced.y = static_cast<std::uint32_t>(begins.size());
  const Device::Pointer to{values}, sums_to{sums}, out{output}, from{slices};
  const ptx::Report report =
      build == ReferenceBuild::oracle    ? launch(blocks_of(count), to, first, number)
      : build == ReferenceBuild::tracked ? launch(sliced, to, sums_to, from, slice, number)
                                         : launch(blocks_of(count), out, first, number);
  REQUIRE(support::faults_of(report) == "");
  return {device.values<double>(values), device.values<double>(sums),
          device.values<std::uint8_t>(output)};
}

template <class Tracked>
void compare_builds(const host_gemm::Problem& p, Tracked host) {
  const std::int64_t begin = 5, count = p.outputs() - 8;
  const Built oracle = run_gemm(p, ReferenceBuild::oracle, begin, count);
  const Built tracked_build = run_gemm(p, ReferenceBuild::tracked, begin, count);
  const Built plain = run_gemm(p, ReferenceBuild::plain, begin, count);
  const std::size_t out = p.task.tensors.size() - 1;
  const BoundParams bound = *bound_params(p.task, out, p.shape, {});
  for (std::int64_t at = 0; at < count; ++at) {
    const tracked want = host(begin + at);
    const auto i = static_cast<std::size_t>(at);
    CHECK(tracked_build.values[i] == oracle.values[i]);
    CHECK(std::abs(oracle.values[i] - want.value) <= 1e-14 * want.sum);
    CHECK(tracked_build.sums[i] == Approx(sum_of(want)).epsilon(1e-12));
    CHECK(judge_element(bound, load_bits(plain.output.data(), begin + at, bound.type), want.value,
                        want.sum)
              .ok);
  }
}

TEST_CASE("the three builds of gemm agree with the host") {
  using namespace host_gemm;
  const Problem plain({.m = 20, .n = 17, .k = 37}, {.seed = 2});
  const HostInputs<tracked> plain_in{plain};
  compare_builds(plain, [&](long long i) { return nn_tracked::reference_D(plain_in, i); });

  const DType type = GENERATE(DType::bf16, DType::f16);
  const GemmSpec spec{.m = 9,
                      .n = 11,
                      .k = 23,
                      .batch = 2,
                      .dtype = type,
                      .layout = "tt",
                      .alpha = 0.5,
                      .beta = 2,
                      .bias = true,
                      .act = Activation::gelu};
  const Problem full(spec, {.seed = 3});
  const HostInputs<tracked> full_in{full};
  compare_builds(full, [&](long long i) { return tt_gelu_tracked::reference_D(full_in, i); });
}

// A row of elements would read 33 sectors a step of K where lines of B lie along K; a tile of 4 x 8
// reads 12.
TEST_CASE("the threads of a warp read few lines in every layout") {
  const std::string layout = GENERATE("nn", "nt", "tn", "tt");
  GemmSpec spec{.m = 32, .n = 64, .k = 16};
  spec.layout = layout;
  const host_gemm::Problem p(spec, {.seed = 4});
  const ReferenceProgram program = *reference_program(p.task, ReferenceBuild::plain);
  Device device;
  device.options.count = true;
  const Device::Pointer a{device.input("A", p.memory[0])}, b{device.input("B", p.memory[1])};
  const Device::Pointer out{device.output("D", 32 * 64 * 4)};
  const ptx::Report report = device.run(support::module_of_cuda(program.text),
                                        program.entries[0].entry, blocks_of(32 * 64), {.x = 256}, 0,
                                        a, b, 1.0, 0.0, 1ll, 32ll, 64ll, 16ll, out, 0ll, 32 * 64ll);
  REQUIRE(support::faults_of(report) == "");
  INFO(layout);
  const double steps = 32 * 64 / 32 * 16;  // of all warps
  CHECK(report.counts[Counter::global_load_sectors].value <= 12 * steps);
  CHECK(report.counts[Counter::global_store_sectors].value <= 4 * 32 * 64 / 32);
}

TEST_CASE("every element has a thread, whatever is asked of an output and wherever it begins") {
  Task task = *load_task(std::string(CUPILOT_SOURCE_DIR) + "/tests/data/softmax/task.json");
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long index) { return "
      "real(double(index)); }";
  const ReferenceProgram program = *reference_program(task, ReferenceBuild::oracle);
  const auto module = support::module_of_cuda(program.text);
  REQUIRE(program.text.find("cupilot_dealt(thread") != std::string::npos);
  for (const long long columns : {1, 3, 8, 13, 64}) {
    for (const long long count : {1, 7, 32, 100, 257, 300}) {
      Device device;
      const Device::Pointer x{device.input("x", std::vector<float>(1))};
      const std::size_t values = device.output("v", static_cast<std::size_t>(count) * 8);
      const ptx::Report report =
          device.run(module, program.entries[0].entry, blocks_of(count), {.x = 256}, 0, x, 100ll,
                     columns, Device::Pointer{values}, 5ll, count);
      REQUIRE(support::faults_of(report) == "");
      const auto found = device.values<double>(values);
      std::vector<double> all(static_cast<std::size_t>(count));
      std::iota(all.begin(), all.end(), 5.0);
      INFO(columns << " columns, " << count << " elements");
      CHECK(found == all);
    }
  }
}

TEST_CASE("the interpreted oracle passes a random-vector product") {
  const host_gemm::Problem p({.m = 50, .n = 40, .k = 60}, {.seed = 12});
  const Built oracle = run_gemm(p, ReferenceBuild::oracle, 0, p.outputs());
  for (int round = 0; round < 3; ++round) {
    std::vector<double> sign(40), bx(60, 0.0);
    for (std::size_t j = 0; j < 40; ++j)
      sign[j] = (mix64(j + 100 * static_cast<unsigned>(round)) & 1) != 0 ? 1.0 : -1.0;
    for (long long q = 0; q < 60; ++q) {
      for (long long j = 0; j < 40; ++j) bx[q] += p.at("B", q * 40 + j) * sign[j];
    }
    for (long long i = 0; i < 50; ++i) {
      double left = 0, right = 0;
      for (long long j = 0; j < 40; ++j) left += oracle.values[i * 40 + j] * sign[j];
      for (long long q = 0; q < 60; ++q) right += p.at("A", i * 60 + q) * bx[q];
      CHECK(std::abs(left - right) < 1e-10);
    }
  }
}

// Softmax of the user's task file, and a kernel without the subtraction judged against it.
TEST_CASE("a user's softmax reference is right and sees an unstable kernel") {
  const Task task = *load_task(std::string(CUPILOT_SOURCE_DIR) + "/tests/data/softmax/task.json");
  const Workload shape{.sizes = {{"rows", 6}, {"cols", 61}}};
  const ReferenceProgram program = *reference_program(task, ReferenceBuild::tracked);
  const auto module = support::module_of_cuda(program.text);
  for (const ContentKind kind : {ContentKind::ordinary, ContentKind::huge_element}) {
    const FillParams params = *fill_params(task, 0, shape, {.seed = 1, .kind = kind});
    std::vector<std::byte> x(366 * 4);
    fill(params, x);
    Device device;
    const Device::Pointer in{device.input("x", x)}, values{device.output("v", 366 * 8)},
        sums{device.output("s", 366 * 8)};
    const Device::Pointer begins{device.input("begins", std::vector<long long>{0})};
    const ptx::Report report =
        device.run(module, program.entries[0].entry, blocks_of(366), {.x = 256}, 0, in, 6ll, 61ll,
                   values, sums, begins, 366ll, 366ll);
    REQUIRE(support::faults_of(report) == "");
    const auto want = device.values<double>(values.index), sum = device.values<double>(sums.index);
    const BoundParams bound = *bound_params(task, 1, shape, {});
    int stable_failed = 0, unstable_failed = 0;
    for (long long row = 0; row < 6; ++row) {
      double total = 0, naive_total = 0, largest = -INFINITY;
      for (long long c = 0; c < 61; ++c) {
        total += want[row * 61 + c];
        largest = std::max(largest, load_real(x.data(), row * 61 + c, storage_f32));
      }
      CHECK(total == Approx(1.0).epsilon(1e-12));
      float stable_total = 0;
      for (long long c = 0; c < 61; ++c) {
        naive_total += static_cast<double>(
            std::exp(static_cast<float>(load_real(x.data(), row * 61 + c, storage_f32))));
        stable_total +=
            std::exp(static_cast<float>(load_real(x.data(), row * 61 + c, storage_f32) - largest));
      }
      for (long long c = 0; c < 61; ++c) {
        const auto v = static_cast<float>(load_real(x.data(), row * 61 + c, storage_f32));
        const std::size_t i = static_cast<std::size_t>(row * 61 + c);
        const float stable = std::exp(v - static_cast<float>(largest)) / stable_total;
        const float unstable = std::exp(v) / static_cast<float>(naive_total);
        stable_failed += judge_element(bound, bits_of(stable), want[i], sum[i]).ok ? 0 : 1;
        unstable_failed += judge_element(bound, bits_of(unstable), want[i], sum[i]).ok ? 0 : 1;
      }
    }
    CHECK(stable_failed == 0);
    CHECK((unstable_failed > 0) == (kind == ContentKind::huge_element));
  }
}

}  // namespace
}  // namespace cupilot
