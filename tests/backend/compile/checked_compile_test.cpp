#include <cupilot/parts/rejection.hpp>

#include "backend/compile/checked_compile.hpp"
#include "backend/compile/image.hpp"
#include "catch.hpp"
#include "support/kept_images.hpp"
#include "support/reached.hpp"

namespace cupilot {
namespace {

CompilePool& pool() {
  static Result<std::unique_ptr<CompilePool>> opened = [] {
    BackendOptions options = testing::kept_images();
    options.compile_jobs = 1;
    return CompilePool::open(options);
  }();
  if (!opened) throw std::runtime_error(opened.error().message);
  return **opened;
}

// One launch of `entry` with pointer arguments in, out and an int n.
KernelSource source_of(const std::string& text, const std::string& entry = "k") {
  KernelSource source;
  source.text = text;
  PlanLaunch launch;
  launch.name = "k";
  launch.entry = entry;
  launch.block = {Expr("T")};
  launch.grid = {Expr("cdiv(n,T)")};
  launch.args = {{PlanArgument::Kind::name, "x", 0},
                 {PlanArgument::Kind::name, "y", 0},
                 {PlanArgument::Kind::i32, "", "n"}};
  source.plan.launches = {launch};
  source.constants = {{"T", 128}};
  return source;
}

std::string code_of(const KernelSource& source) {
  const Attempt<CompiledKernel> kernel = compile_and_check(pool(), source, "sm_90a");
  if (kernel.is_error()) return "error: " + kernel.error().message;
  return kernel.is_rejected() ? kernel.rejected().code : "";
}

#define K "extern \"C\" __global__ void k(const float* x, float* y, int n) "

TEST_CASE("Hostile CUDA sources are refused with their codes", "[slow]") {
  struct Case {
    const char* name;
    const char* text;
    const char* code;
  };
  const auto c = GENERATE(values<Case>({
      {"second entry by asm",
       K "{ y[0] = x[0]; asm volatile(\"ret;} .visible .entry evil(.param .u64 a){\" ::: "
         "\"memory\"); }",
       "gate.extra_entry"},
      {"two kernels", K "{ y[0] = x[0]; } extern \"C\" __global__ void other() {}",
       "gate.extra_entry"},
      {"no kernel of the name",
       "extern \"C\" __global__ void q(const float* x, float* y, int n) { y[0] = x[0]; }",
       "gate.extra_entry"},
      {"nothing at all", "", "gate.missing_entry"},
      {"hidden global by asm",
       K
       "{ asm volatile(\".global .u32 calls;\\n red.global.add.u32 [calls], 1;\"); y[0] = x[0]; }",
       "gate.state"},
      {"call counter",
       "__device__ int calls; " K "{ if (calls++ < 10) y[threadIdx.x] = x[threadIdx.x]; }",
       "gate.state"},
      {"cache keyed by pointer",
       "__device__ float cache[4096]; __device__ const float* key; " K
       "{ if (key == x) y[n] = cache[n]; else { cache[n] = x[n]; key = x; y[n] = x[n]; } }",
       "gate.state"},
      {"more parameters",
       "extern \"C\" __global__ void k(const float* x, float* y, int n, const float* secret) { "
       "y[0] = secret[n]; }",
       "gate.parameters"},
      {"fewer parameters",
       "extern \"C\" __global__ void k(const float* x, float* y) { y[0] = x[0]; }",
       "gate.parameters"},
      {"wider integer",
       "extern \"C\" __global__ void k(const float* x, float* y, long long n) { y[0] = x[n]; }",
       "gate.parameters"},
      {"struct for pointer",
       "struct P { float a, b; }; extern \"C\" __global__ void k(P x, float* y, int n) { y[0] = "
       "x.a; }",
       "gate.parameters"},
      {"printf", K "{ printf(\"{\\\"ok\\\":true}\"); y[0] = x[0]; }", "gate.extern"},
      {"malloc", K "{ float* p = (float*)malloc(4); *p = x[0]; y[0] = *p; }", "gate.extern"},
      {"extern function",
       "extern \"C\" __device__ int outside(int); " K "{ y[0] = x[outside(n)]; }", "compile.error"},
      {"static shared over the limit",
       K "{ __shared__ float s[1 << 20]; s[n] = x[0]; y[0] = s[0]; }", "compile.error"},
      {"a table of answers", "__device__ const float t[20000] = {1, 2, 3}; " K "{ y[n] = t[n]; }",
       "gate.size"},
      {"1 GiB of local memory",
       K "{ float v[1 << 28]; for (int i = 0; i < n; ++i) v[x[i] > 0] += x[i]; y[0] = v[n]; }",
       "gate.size"},
      {"trap", K "{ if (n < 0) __trap(); y[0] = x[0]; }", "gate.forbidden"},
      {"system atomic", K "{ atomicAdd_system((int*)y, 1); }", "gate.forbidden"},
      {"indirect call",
       "__device__ __noinline__ float f(float a) { return a + 1; } __device__ __noinline__ float "
       "g(float a) { return a * 2; } " K
       "{ float (*p)(float) = n > 3 ? f : g; float (* volatile q)(float) = p; y[0] = q(x[0]); }",
       "gate.forbidden"},
      {"bounds below the launch",
       "extern \"C\" __global__ void __launch_bounds__(64) k(const float* x, float* y, int n) { "
       "y[0] = x[n]; }",
       "gate.launch_bounds"},
      {"include of a file", "#include \"/etc/passwd\"\n" K "{}", "gate.include"},
      {"stray brace", K "{ } }", "compile.error"},
  }));
  INFO(c.name);
  testing::expect_code(code_of(source_of(c.text)), c.code);
}

TEST_CASE("Honest CUDA sources are admitted with their facts", "[slow]") {
  SECTION("extern C") {
    const auto kernel =
        compile_and_check(pool(),
                          source_of(K "{ __shared__ float s[128]; s[threadIdx.x] = x[n]; "
                                      "__syncthreads(); y[n] = s[n & 127]; }"),
                          "sm_90a");
    REQUIRE(kernel);
    REQUIRE(kernel->entries.size() == 1);
    const EntryFacts& entry = kernel->entries[0];
    CHECK(entry.name == "k");
    CHECK(entry.static_shared == 512);
    CHECK(entry.registers > 4);
    CHECK(entry.parameter_bytes == std::vector<int>{8, 8, 4});
    CHECK(entry.parameter_alignment == std::vector<int>{8, 8, 4});
    CHECK(kernel->facts.ceiling == Precision::fp64);
    CHECK(kernel->facts.opcodes.count("bar.sync") == 1);
    CHECK_FALSE(kernel->cubin.empty());
    CHECK(kernel->id == kernel_id(kernel->source));
  }
  SECTION("a source that writes an assembler's report") {
    const auto kernel = compile_and_check(
        pool(),
        source_of(
            "#line 1 \"ptxas info    : Compiling entry function 'k' for 'sm_90a'\"\n#warning x\n"
            "#line 1 \"ptxas info    : Used 1 registers, 0 bytes smem\"\n#warning x\n" K
            "{ __shared__ float s[128]; s[threadIdx.x] = x[n]; __syncthreads(); y[n] = s[n & 127]; "
            "}"),
        "sm_90a");
    REQUIRE(kernel);
    CHECK(kernel->entries[0].registers > 4);
    CHECK(kernel->entries[0].static_shared == 512);
  }
  SECTION("mangled name and launch bounds") {
    const auto kernel =
        compile_and_check(pool(),
                          source_of("__global__ void __launch_bounds__(256) k(const float* x, "
                                    "float* y, int n) { y[n] = x[n] * 2; }"),
                          "sm_90a");
    REQUIRE(kernel);
    CHECK(kernel->entries[0].source_name == "k");
    CHECK(kernel->entries[0].name == "_Z1kPKfPfi");
    CHECK(kernel->entries[0].max_threads == 256);
    CHECK(kernel->facts.ceiling == Precision::fp32_strict);
  }
  SECTION("template arguments from the strategy's numbers") {
    const auto kernel =
        compile_and_check(pool(),
                          source_of("template <int N> __global__ void k(const float* x, float* y, "
                                    "int n) { y[n] = x[n] * N; }",
                                    "k<{T}>"),
                          "sm_90a", {.ptx_only = true});
    REQUIRE(kernel);
    CHECK(kernel->entries[0].source_name == "k<128>");
    CHECK(kernel->entries[0].name == "_Z1kILi128EEvPKfPfi");
    CHECK(kernel->cubin.empty());
  }
  SECTION("a name of no constant") {
    testing::expect_code(code_of(source_of("template <int N> __global__ void k() {}", "k<{Q}>")),
                         "plan.name");
  }
}

TEST_CASE("The headers of the allow-list compile and are recorded", "[slow]") {
  const char* text =
      "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n#include "
      "<mma.h>\n#include <cuda_runtime.h>\n"
      "#include \"cuda_pipeline.h\"\n#include <cooperative_groups.h>\n#include "
      "<cooperative_groups/reduce.h>\n#include "
      "<cuda/barrier>\n"
      "#include <cuda/std/array>\n#include <cuda/std/bit>\n#include <cuda/std/cmath>\n"
      "#include <cuda/std/limits>\n#include <cuda/std/type_traits>\n#include <cuda/std/utility>\n"
      "#include <cstdint>\n#include <stdint.h>\n#include <cfloat>\n#include <climits>\n#include "
      "<cmath>\n" K
      "{ auto block = cooperative_groups::this_thread_block(); block.sync(); uint64_t i = "
      "threadIdx.x;"
      " if constexpr (cuda::std::is_same_v<float, decltype(-x[0])>)"
      " y[i] = fmaxf(cuda::std::numeric_limits<float>::lowest(), x[i]);"
      " y[i] = fmaxf(-FLT_MAX, x[i]) + __half2float(__float2half(0.0f)) + (n == INT_MAX); }";
  const auto kernel = compile_and_check(pool(), source_of(text), "sm_90a", {.ptx_only = true});
  if (kernel.is_rejected()) FAIL(kernel.rejected().code << ": " << kernel.rejected().message);
  REQUIRE(kernel);
  CHECK(std::count(kernel->facts.flags.begin(), kernel->facts.flags.end(),
                   "#include <cuda_pipeline.h>") == 1);
  CHECK(kernel->confinement == describe(pool().sandbox()));
  for (const char* other : {"#include <curand_kernel.h>\n", "#include <cub/cub.cuh>\n",
                            "#include <cooperative_groups/../mma.h>\n", "#include <./mma.h>\n",
                            "#include <crt/mma.h>\n", "#include <mma.h \n"}) {
    INFO(other);
    testing::expect_code(code_of(source_of(std::string(other) + K "{ y[0] = x[0]; }")),
                         "gate.include");
  }
}

TEST_CASE("A text may be longer the more kernels its plan launches", "[slow]") {
  KernelSource source = source_of(K
                                  "{ y[n] = x[n]; }\n"
                                  "extern \"C\" __global__ void l(const float* x, float* y, int "
                                  "n) { y[n] = -x[n]; }\n");
  source.text += std::string(300u << 10, '\n');
  PlanLaunch second = source.plan.launches[0];
  second.name = "again";
  source.plan.launches.push_back(second);
  CHECK(code_of(source) == "gate.source_size");
  source.plan.launches[1].entry = "l";
  CHECK(code_of(source) == "");
}

TEST_CASE("The image is asked for its kernels by itself", "[slow]") {
  const auto kernel = compile_and_check(pool(), source_of(K "{ y[n] = x[n]; }"), "sm_90a");
  REQUIRE(kernel);
  const std::vector<std::uint8_t>& cubin = kernel->cubin;
  REQUIRE(kernels_in(cubin));
  CHECK(*kernels_in(cubin) == std::vector<std::string>{"k"});
  CHECK_FALSE(check_image(cubin, {"k"}));
  testing::expect_code(*check_image(cubin, {"other"}), "gate.extra_entry");
  testing::expect_code(*check_image(cubin, {"k", "other"}), "gate.missing_entry");
  testing::expect_code(*check_image({}, {"k"}), "gate.missing_entry");
  for (std::size_t length = 0; length < cubin.size(); length += 1 + cubin.size() / 200)
    kernels_in({cubin.data(), length});
  std::vector<std::uint8_t> spoilt = cubin;
  for (std::size_t i = 0; i < 64; ++i) {
    spoilt[i] ^= 0xff;
    kernels_in(spoilt);
    spoilt[i] = cubin[i];
  }
}

TEST_CASE("Renaming leaves the normalised hash alone", "[slow]") {
  const auto a = compile_and_check(pool(), source_of(K "{ int i = threadIdx.x; y[i] = x[i] + n; }"),
                                   "sm_90a", {.ptx_only = true});
  const auto b = compile_and_check(
      pool(), source_of(K "{ /* c */ unsigned int\n lane = threadIdx.x; y[lane] = x[lane] + n; }"),
      "sm_90a", {.ptx_only = true});
  const auto c = compile_and_check(pool(), source_of(K "{ int i = threadIdx.x; y[i] = x[i] - n; }"),
                                   "sm_90a", {.ptx_only = true});
  REQUIRE((a && b && c));
  CHECK(a->facts.normalized_hash != c->facts.normalized_hash);
  CHECK(a->id != b->id);
}

TEST_CASE("PTX sources are gated as they stand") {
  KernelSource source = source_of(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a, .param "
      ".u64 b, .param .u32 "
      "n)\n{\nret;\n}\n");
  source.language = Language::ptx;
  CHECK(code_of(source).empty());
  source.text += ".visible .entry evil()\n{\nret;\n}\n";
  testing::expect_code(code_of(source), "gate.extra_entry");
  source.text = "int main() {}";
  testing::expect_code(code_of(source), "gate.ptx_syntax");
}

TEST_CASE("PTX is assembled for devices, as compilers other than NVRTC write it") {
  // The alignment behind .ptr is that of the memory, as in PTX of LLVM.
  KernelSource source = source_of(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 .ptr .global "
      ".align 1 a, .param .u64 .ptr .global .align 16 b, .param .u32 n)\n{\n.reg .b64 %rd<3>;\n"
      "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nret;\n}\n");
  source.language = Language::ptx;
  const auto taken = compile_and_check(pool(), source, "sm_90a");
  REQUIRE(taken);
  CHECK(taken->cubin.empty());
  CHECK(taken->compiler == "none");
  const auto image = compile_and_check(pool(), source, "sm_90a", {.assembles = true});
  REQUIRE(image);
  CHECK(image->cubin.size() > 500);
  CHECK(image->compiler.rfind("nvjitlink 1", 0) == 0);
  REQUIRE(image->entries.size() == 1);
  CHECK(image->entries[0].registers > 0);
  CHECK(image->entries[0].stack_bytes == 0);
  KernelSource ended = source;
  ended.text += std::string("// ") + '\0' + "\n";
  testing::expect_code(code_of(ended), "gate.ptx_syntax");
  // Our parser takes both; the assembler knows its own version's alone.
  for (const auto& [from, to] : {std::pair{".version 8.0", ".version 99.0"},
                                 std::pair{"ret;", "mov.b64 %rd1, %rd9;\nret;"}}) {
    KernelSource wrong = source;
    wrong.text.replace(wrong.text.find(from), std::string(from).size(), to);
    const auto refused = compile_and_check(pool(), wrong, "sm_90a", {.assembles = true});
    CHECK_FALSE(refused);
  }
}

TEST_CASE("A kernel of lower class than the task's is refused") {
  CompiledKernel kernel;
  Task task;
  task.precision = Precision::fp32_strict;
  kernel.facts.ceiling = Precision::fp32_emulated;
  REQUIRE(check_contract(kernel, task));
  testing::expect_code(*check_contract(kernel, task), "gate.precision");
  kernel.facts.ceiling = Precision::fp32_strict;
  CHECK_FALSE(check_contract(kernel, task));
  task.precision = Precision::bf16;
  CHECK_FALSE(check_contract(kernel, task));
  kernel.facts.ceiling = Precision::fp16;
  CHECK(check_contract(kernel, task));
}

}  // namespace
}  // namespace cupilot
