// Generated dispatchers, compiled and run on a driver that writes down what it is asked: each
// launch must be what resolve() says.
#include <cuda.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/runtime.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "support/kept_images.hpp"

using namespace cupilot;
namespace fs = std::filesystem;

// The runtime has no cuda.h: its layouts are checked here.
static_assert(sizeof(runtime::DriverApi::Config) == sizeof(CUlaunchConfig));
static_assert(offsetof(runtime::DriverApi::Config, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(runtime::DriverApi::Config, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(runtime::DriverApi::Config, attribute_count) ==
              offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(runtime::DriverApi::Attribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(runtime::DriverApi::Attribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(runtime::DriverApi::TensorMap) == sizeof(CUtensorMap) &&
              alignof(runtime::DriverApi::TensorMap) == 64);

namespace {

constexpr std::uint64_t tensor_base = 0xa0000000, buffer_base = 0xb0000000;

// Launches every shape named on the command line; tensors lie at fixed addresses. The number of a
// launch's parameters travels as its stream. The first two words go to the fake driver; "+N" moves
// the first tensor by N bytes.
std::string check_program(const Task& task, std::size_t parameters) {
  std::string sizes, tensors;
  for (std::size_t i = 0; i < task.axes.size(); ++i) sizes += fmt::format("s[{}], ", i);
  for (std::size_t i = 0; i < task.tensors.size(); ++i)
    tensors +=
        fmt::format("(void*)({:#x} + {}), ", tensor_base + 0x1000 * i, i == 0 ? "moved" : "0");
  return fmt::format(R"(#include "dispatch.hpp"
#include <cstdio>
#include <cstdlib>
int main(int count, char** words) {{
  void* fake = dlopen(FAKE, RTLD_NOW);
  ((void (*)(int, int))dlsym(fake, "fake_set"))(std::atoi(words[1]), std::atoi(words[2]));
  dispatch all(FAKE);
  std::vector<std::int64_t> s;
  long moved = 0;
  for (int i = 3; i < count; ++i) {{
    if (words[i][0] == '+') {{ moved = std::atol(words[i]); continue; }}
    s.push_back(std::atoll(words[i]));
    if (s.size() < {}) continue;
    const auto status = all.launch({}{}(void*){});
    if (!status.ok()) std::printf("error %d %s\n", status.code, status.message.c_str());
    if (status.ok()) std::printf("used %s\n", all.used(s)->name);
    s.clear();
  }}
  std::printf("%s", ((const char* (*)())dlsym(fake, "fake_log"))());
}}
)",
                     task.axes.size(), sizes, tensors, parameters);
}

class Program {
 public:
  Program(const WisdomEntry& entry, std::size_t parameters)
      : Program(std::vector<WisdomEntry>{entry}, parameters) {}
  Program(const std::vector<WisdomEntry>& entries, std::size_t parameters)
      : folder_(fs::temp_directory_path() / "cupilot-dispatcher-test") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const auto files = dispatcher_files(entries, "dispatch");
    REQUIRE(files);
    for (const GeneratedFile& file : *files) std::ofstream(folder_ / file.name) << file.text;
    std::ofstream(folder_ / "check.cpp") << check_program(entries.front().task, parameters);
    const std::string command = fmt::format(
        "cd '{}' && {} -std=c++17 -Wall -Wextra -Werror -DFAKE='\"{}\"' -I'{}/include' -I. "
        "check.cpp -ldl -o check 2>&1",
        folder_.string(), CUPILOT_CXX, CUPILOT_FAKE_LIBCUDA, CUPILOT_SOURCE_DIR);
    REQUIRE(std::system(command.c_str()) == 0);
  }
  ~Program() { fs::remove_all(folder_); }

  std::vector<std::string> run(const std::string& words) const {
    const std::string command = fmt::format("cd '{}' && ./check {} > out", folder_.string(), words);
    REQUIRE(std::system(command.c_str()) == 0);
    std::ifstream file(folder_ / "out");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  fs::path folder_;
};

// What the fake driver must have written for a plan of numbers, were it the first that is launched.
std::vector<std::string> expected_lines(const CompiledKernel& kernel, const ResolvedPlan& plan) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const auto bytes = std::max<std::int64_t>(plan.buffers[i].bytes, 16);
    lines.push_back(fmt::format("allocate {}", bytes));
    if (plan.buffers[i].content == BufferContent::restored)
      lines.push_back(fmt::format("clear {:x} 0 {}", buffer_base + 0x100 * i, bytes));
  }
  std::vector<std::string> maps;
  for (const ResolvedMap& map : plan.maps) {
    std::string sides;
    for (std::size_t i = 0; i < map.dims.size(); ++i)
      sides += fmt::format(" {}/{}", map.dims[i], map.box[i]);
    for (const std::int64_t pitch : map.pitch) sides += fmt::format(" {}", pitch);
    const std::uint64_t base = map.of_buffer
                                   ? buffer_base + 0x100 * static_cast<std::uint64_t>(map.index)
                                   : tensor_base + 0x1000 * static_cast<std::uint64_t>(map.index);
    const int type = map.type == DType::i16   ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                     : map.type == DType::f32 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                              : -1;
    lines.push_back(
        fmt::format("map {:#x} type {} swizzle {}:{}", base, type,
                    map.swizzle == 128 ? static_cast<int>(CU_TENSOR_MAP_SWIZZLE_128B) : 0, sides));
  }
  for (const ResolvedLaunch& launch : plan.launches) {
    std::string words;
    for (const ResolvedArgument& argument : launch.args) {
      std::uint64_t word = 0;
      const auto at = static_cast<std::uint64_t>(argument.index);
      if (argument.kind == ResolvedArgument::Kind::tensor) word = tensor_base + 0x1000 * at;
      if (argument.kind == ResolvedArgument::Kind::buffer) word = buffer_base + 0x100 * at;
      if (argument.kind == ResolvedArgument::Kind::map) word = at + 1;
      if (!argument.bytes.empty()) std::memcpy(&word, argument.bytes.data(), argument.bytes.size());
      words += fmt::format(" {:x}", argument.bytes.size() == 4 ? word & 0xffffffff : word);
    }
    lines.push_back(
        fmt::format("launch {} grid {} block {} cluster {} shared {} cooperative {:d}:{}",
                    find_entry(kernel, launch.entry)->name, fmt::join(launch.grid, " "),
                    fmt::join(launch.block, " "), fmt::join(launch.cluster, " "), launch.shared,
                    launch.cooperative, words));
  }
  return lines;
}

std::vector<std::string> logged(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    if (!line.starts_with("used") && !line.starts_with("error") && !line.starts_with("allow"))
      out.push_back(line);
  }
  return out;
}

}  // namespace

TEST_CASE("a dispatcher launches what the plan says at every shape", "[wisdom]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  for (const GemmSpec& spec : {GemmSpec{.dtype = DType::bf16},
                               GemmSpec{.layout = "tt", .alpha = 0.5, .beta = 2, .bias = true}}) {
    const auto task = gemm_task(spec);
    REQUIRE(task);
    for (const KernelSource& source : support::sampled_sources(*task)) {
      INFO(source.template_name);
      auto all = support::portfolio(*task, **backend, {source});
      const Program program(all.entry, source.plan.launches.at(0).args.size());
      for (const Sizes& sizes : {Sizes{{"batch", 1}, {"m", 4096}, {"n", 4096}, {"k", 4096}},
                                 {{"batch", 3}, {"m", 1}, {"n", 8}, {"k", 16}},
                                 {{"batch", 1}, {"m", 129}, {"n", 4104}, {"k", 40}},
                                 {{"batch", 1}, {"m", 7}, {"n", 5}, {"k", 3}}}) {
        const Workload workload{sizes};
        const auto resolution =
            resolve(source, *task, workload, (*backend)->device(), &all.kernels[0]);
        REQUIRE(resolution);
        const auto lines = program.run(fmt::format("9 -1 {} {} {} {}", sizes.at("batch"),
                                                   sizes.at("m"), sizes.at("n"), sizes.at("k")));
        REQUIRE_FALSE(lines.empty());
        INFO(fmt::format("m={} n={} k={}\n{}", sizes.at("m"), sizes.at("n"), sizes.at("k"),
                         fmt::join(lines, "\n")));
        if (const auto* plan = std::get_if<ResolvedPlan>(&*resolution)) {
          CHECK(lines[0] == "used kernel_1");
          // The low words of 32-bit parameters stand beside what lay after them.
          const auto got = logged(lines), want = expected_lines(all.kernels[0], *plan);
          INFO(fmt::format("{}", fmt::join(want, "\n")));
          CHECK((got == want));
        } else {
          CHECK(lines[0].starts_with("error -1 no kernel of gemm serves these sizes"));
        }
      }
    }
  }
}

namespace {

const char* text = "extern \"C\" __global__ void rows(float* y, int a) { y[a] = 1; }";

KernelSource hand_made(std::vector<Expr> require, Expr grid) {
  KernelSource source{Language::cuda, text};
  source.plan.require = std::move(require);
  source.plan.let = {{"unused", "1/(m-m)"}, {"half", "n/2"}};
  source.plan.buffers = {{"gate", 64, BufferContent::zeroed}};
  source.plan.launches = {{"main", "rows", When::run, {grid}, {256}}};
  source.plan.launches[0].args = {{PlanArgument::Kind::name, "D", {}},
                                  {PlanArgument::Kind::i32, {}, "main.ctas"}};
  return source;
}

}  // namespace

TEST_CASE("a dispatcher takes the nearest shape's kernels in order, then the fallback",
          "[wisdom]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  const auto task = gemm_task({});
  auto all = support::portfolio(*task, **backend,
                                {hand_made({"n%8==0"}, "min(m,resident.main)"),
                                 hand_made({"n>1?half>0:0"}, "half"), hand_made({}, "m*n/(n-1)")});
  const auto shape = [](std::int64_t side, std::vector<double> times) {
    return WisdomShape{
        {{{"batch", 1}, {"m", side}, {"n", side}, {"k", side}}}, std::move(times), {}};
  };
  all.entry.shapes = {shape(64, {2, 1, 3}), shape(4096, {1, 2, 3})};
  const Program program(all.entry, 2);
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {"1 64 64 64", "used kernel_2", "grid 32 1 1"},  // near the small shape
      {"1 4096 4096 4096", "used kernel_1",
       "grid 1056 1 1"},  // near the big one: eight blocks of 256 an SM
      {"1 4096 4095 4096", "used kernel_2", "grid 2047 1 1"},  // its first choice refuses odd n
      {"1 4096 1 4096", "error -1 no kernel", ""},             // the fallback divides by zero
      {"1 5 2 7", "used kernel_2", "grid 1 1 1"},
  };
  for (const auto& [sizes, first, launch] : rows) {
    const auto lines = program.run(std::string("9 -1 ") + sizes);
    INFO(sizes << "\n" << fmt::format("{}", fmt::join(lines, "\n")));
    CHECK(lines.at(0).find(first) == 0);
    if (*launch != '\0') CHECK(lines.back().find(launch) != std::string::npos);
    if (*launch != '\0') CHECK(lines.at(lines.size() - 2) == "clear b0000000 0 64");
  }
  // A second launch of a shape allocates nothing.
  const auto twice = program.run("9 -1 1 64 64 64 1 64 64 64");
  CHECK(std::count(twice.begin(), twice.end(), "allocate 64") == 1);
  CHECK(std::count_if(twice.begin(), twice.end(),
                      [](const std::string& line) { return line.starts_with("launch"); }) == 2);
}

TEST_CASE("a dispatcher says what keeps it from launching", "[wisdom]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  auto all = support::portfolio(*gemm_task({}), **backend, {hand_made({}, "m")});
  const Program program(all.entry, 2);
  CHECK(program.run("8 -1 1 1 1 1").at(0) ==
        "error -1 the kernels are for NVIDIA H200; none is for compute capability 8.0, that of "
        "NVIDIA H200");
  const auto full = program.run("9 0 1 1 1 1 1 1 1 1");
  CHECK(full.at(0) == "error 2 cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)");
  CHECK(full.at(1) == "used kernel_1");  // later there is memory
  const runtime::Table empty{"gemm", "", 9, 0, {}, {}, {}, {}, 0};
  runtime::Dispatcher closed({&empty}, "no-such-library.so");
  CHECK(closed.launch({}, {}, nullptr)
            .message.find("cannot open the CUDA driver: no-such-library.so") == 0);
}

TEST_CASE("tables are made once, anew for other constants, and again after a failure", "[wisdom]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  auto task = gemm_task({});
  KernelSource source = hand_made({}, "m");
  source.plan.buffers = {{"list", 64, BufferContent::table}};
  PlanLaunch setup = source.plan.launches[0];
  setup.name = "setup";
  setup.when = When::setup;
  setup.grid = {7};
  setup.args = {{PlanArgument::Kind::name, "A", {}}, {PlanArgument::Kind::i32, {}, 1}};
  source.plan.launches.insert(source.plan.launches.begin(), setup);
  auto all = support::portfolio(*task, **backend, {source});
  const Program program(all.entry, 2);
  const auto setups = [&](const std::string& words) {
    const auto lines = program.run(words);
    INFO(fmt::format("{}", fmt::join(lines, "\n")));
    return std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("grid 7 ") != std::string::npos;
    });
  };
  CHECK(setups("9 -1 1 5 5 5 1 5 5 5") == 1);
  CHECK(setups("9 -1 1 5 5 5 +256 1 5 5 5 1 5 5 5") == 2);
  const auto failed = program.run("9 1 1 5 5 5 1 5 5 5");
  CHECK(failed.at(0) == "error 2 cuLaunchKernelEx: CUDA_ERROR_OUT_OF_MEMORY (2)");
  CHECK(setups("9 1 1 5 5 5 1 5 5 5") == 2);
}

TEST_CASE("a dispatcher refuses tensors that its kernels could not read", "[wisdom]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  auto all = support::portfolio(*gemm_task({}), **backend, {hand_made({}, "m")});
  const Program program(all.entry, 2);
  CHECK(program.run("9 -1 +8 1 5 5 5").at(0) ==
        "error -1 A is not aligned to 256 bytes, as the kernels of gemm may assume");
}

TEST_CASE("shared memory allowed for one shape stays allowed for it", "[wisdom]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  KernelSource source = hand_made({}, "m");
  source.plan.launches[0].shared = "k*1024";
  auto all = support::portfolio(*gemm_task({}), **backend, {source});
  const Program program(all.entry, 2);
  const auto lines = program.run("9 -1 1 5 5 100 1 5 5 10 1 5 5 100");
  CHECK(std::count(lines.begin(), lines.end(), "allow 102400") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "allow 10240") == 0);
  CHECK(program.run("9 -1 1 5 5 228").at(0) == "error -1 no kernel of gemm serves these sizes");
}

TEST_CASE("the table of the device serves, else one that runs the same code", "[wisdom]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  const auto made_on = [&](const char* device, int major, std::int64_t grid) {
    auto all = support::portfolio(*gemm_task({}), **backend, {hand_made({}, grid)});
    all.entry.device_label = device;
    all.entry.compute_major = major;
    return all.entry;
  };
  const std::tuple<std::vector<WisdomEntry>, const char*> rows[] = {
      {{made_on("NVIDIA A100", 8, 1), made_on("NVIDIA H100", 9, 2), made_on("NVIDIA H200", 9, 3)},
       "grid 3 1 1"},
      {{made_on("NVIDIA H200", 9, 3), made_on("NVIDIA H100", 9, 2)}, "grid 3 1 1"},
      {{made_on("NVIDIA A100", 8, 1), made_on("NVIDIA H100", 9, 2)}, "grid 2 1 1"},
  };
  for (const auto& [entries, launch] : rows) {
    const Program program(entries, 2);
    CHECK(program.run("9 -1 1 5 5 5").back().find(launch) != std::string::npos);
  }
  WisdomEntry other = made_on("NVIDIA H100", 9, 2);
  other.task.precision = Precision::tf32;
  CHECK(dispatcher_files({made_on("NVIDIA H200", 9, 3), other}, "x").error().message ==
        "the entries are of several tasks");
  CHECK(dispatcher_files({}, "x").error().message == "there is no entry to make a dispatcher of");
}

TEST_CASE("what no dispatcher can be made of", "[wisdom]") {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  auto all = support::portfolio(*gemm_task({}), **backend, {hand_made({}, "m")});
  for (const char* name : {"my-gemm", "../x", "class", "stream", ""}) {
    CHECK(dispatcher_files({all.entry}, name).error().message ==
          fmt::format("'{}' cannot be the name of a C++ class", name));
  }
  all.entry.kernels[0].image.clear();
  CHECK(dispatcher_files({all.entry}, "x").error().message == "kernel kernel_1 has no cubin");
  WisdomKernel& kernel = all.entry.kernels[0];
  kernel.image = {1};
  const std::string named = kernel.kernel_id;
  kernel.source.text += " ";
  CHECK(dispatcher_files({all.entry}, "x").error().message ==
        fmt::format("kernel kernel_1 of gemm on NVIDIA H200 is named {}, but its text, plan and "
                    "constants have the id {}",
                    named, kernel_id(kernel.source)));
  kernel.source.plan.launches[0].library = "cublaslt";
  kernel.kernel_id = kernel_id(kernel.source);
  CHECK(dispatcher_files({all.entry}, "x").error().message ==
        "a dispatcher calls no library: the kernel has a library's step");
  kernel.source.plan.launches[0].library.clear();
  kernel.source.plan.let = {{"a", "b"}, {"b", "a"}};
  kernel.source.plan.launches[0].grid = {"a"};
  kernel.kernel_id = kernel_id(kernel.source);
  CHECK(dispatcher_files({all.entry}, "x").error().message ==
        "kernel kernel_1 cannot be launched from C++: 'a' needs itself");
  kernel.source.plan.launches[0].grid = {"nobody"};
  kernel.kernel_id = kernel_id(kernel.source);
  CHECK(dispatcher_files({all.entry}, "x").error().message ==
        "kernel kernel_1 cannot be launched from C++: 'nobody' has no meaning outside a search");
}
