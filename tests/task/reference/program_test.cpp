#include "task/reference/program.hpp"

#include "catch.hpp"
#include "support/gemm.hpp"
#include "support/graph.hpp"
#include "support/nvrtc.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

TEST_CASE("the three builds of gemm compile without toolkit headers") {
  struct Case {
    const char* what;
    GemmSpec spec;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"plain fp32", {}},
      {"everything",
       {.batch = 2,
        .dtype = DType::bf16,
        .layout = "tt",
        .alpha = 2,
        .beta = 1,
        .bias = true,
        .act = Activation::gelu}},
      {"fp16 in, fp32 out", {.dtype = DType::f16, .out = DType::f32, .act = Activation::tanh}},
  }));
  INFO(c.what);
  const Task task = *gemm_task(c.spec);
  for (const ReferenceBuild build :
       {ReferenceBuild::oracle, ReferenceBuild::plain, ReferenceBuild::tracked}) {
    const auto program = reference_program(task, build);
    REQUIRE(program);
    REQUIRE(program->entries.size() == 1);
    CHECK(program->entries[0].tensor == "D");
    CHECK(program->text.find("#include") == std::string::npos);
    const std::string ptx = ::support::compile_ptx(program->text);
    CHECK(ptx.find(".entry " + program->entries[0].entry) != std::string::npos);
    CHECK((ptx.find("fma.rn.f64") != std::string::npos) == (build != ReferenceBuild::plain));
  }
}

Task user_task() {
  Task task;
  task.name = "mixed";
  task.axes = {{"rows", AxisKind::free}, {"columns", AxisKind::reduced}};
  task.tensors = {{.name = "x",
                   .type = DType::f16,
                   .shape = {"rows", "columns"},
                   .strides = {"up(columns,8)", 1}},
                  {.name = "label",
                   .type = DType::i64,
                   .shape = {"rows"},
                   .fill = {.kind = FillKind::labels, .below = "columns"}},
                  {.name = "state", .role = Role::in_out, .type = DType::f32, .shape = {"rows"}},
                  {.name = "best",
                   .role = Role::out,
                   .type = DType::i32,
                   .shape = {"rows"},
                   .check = {.kind = CheckKind::bitwise}}};
  task.scalars = {{"rate", DType::f32, 0.5}};
  task.constants = {{"MODE", 3}};
  task.time_shapes = {{.sizes = {{"rows", 4}, {"columns", 5}}}};
  task.reference = {R"(
__device__ real reference_state(const Inputs& in, long long index) {
  const real picked = in.x(index * in.columns + in.label(index));
  return in.state(index) + in.rate * real(MODE) * sqrt_(abs_(picked));
}
__device__ real reference_best(const Inputs& in, long long index) {
  long long best = 0;
  for (long long c = 1; c < in.columns; ++c) {
    if (in.x(index * in.columns + c) > in.x(index * in.columns + best)) best = c;
  }
  return real(double(best));
}
)",
                    "mixed.cu"};
  return task;
}

TEST_CASE("a user's reference sees tensors of any type, padding, scalars and constants") {
  const Task task = user_task();
  const auto valid = validate(task);
  INFO((valid ? "" : valid.error().message));
  REQUIRE(valid);
  for (const ReferenceBuild build :
       {ReferenceBuild::oracle, ReferenceBuild::plain, ReferenceBuild::tracked}) {
    const auto program = reference_program(task, build);
    REQUIRE(program);
    REQUIRE(program->entries.size() == 2);
    CHECK(program->text.find("in.rate = real(static_cast<float>(p_rate));") != std::string::npos);
    CHECK(program->entries[0].tensor == "state");
    CHECK(program->entries[1].tensor == "best");
    const std::string ptx = ::support::compile_ptx(program->text);
    for (const ReferenceEntry& entry : program->entries)
      CHECK(ptx.find(".entry " + entry.entry) != std::string::npos);
  }
}

TEST_CASE("every function that a task file may use compiles in three builds") {
  Task task = user_task();
  task.reference.text = R"(
__device__ real reference_state(const Inputs& in, long long index) {
  const real x = in.x(index * in.columns), z = in.state(index);
  real sum = select_(x > z, in.x(index * in.columns), real(0)) + real(from_bits_(bits_(z) & ~0xFFFFll));
  sum += exp_(x) + log_(x) + tanh_(x) + erf_(x) + sqrt_(x) + abs_(x) + max_(x, z) + min_(x, z);
  sum += maxn_(x, z) + minn_(x, z) + exp2_(x) + expm1_(x) + log2_(x) + log10_(x) + log1p_(x);
  sum += rsqrt_(x) + pow_(x, z) + fmod_(x, z) + erfc_(x) + sin_(x) + cos_(x) + tan_(x) + asin_(x);
  sum += acos_(x) + atan_(x) + atan2_(x, z) + sinh_(x) + cosh_(x) + asinh_(x) + acosh_(x);
  sum += atanh_(x) + floor_(x) + ceil_(x) + rint_(x) + trunc_(x) + sign_(x) + copysign_(x, z);
  return isnan_(sum) ? real(nan_()) : sum == real(infinity_()) ? real(0) : sum;
}
__device__ real reference_best(const Inputs& in, long long index) {
  return real(bits_(in.x(index * in.columns + place_(rint_(in.state(index))))));
}
)";
  for (const ReferenceBuild build :
       {ReferenceBuild::oracle, ReferenceBuild::plain, ReferenceBuild::tracked}) {
    const auto program = reference_program(task, build);
    REQUIRE(program);
    CHECK_NOTHROW(::support::compile_ptx(program->text));
  }
}

TEST_CASE("a reference that does not compile is blamed at its own line") {
  Task task = user_task();
  task.reference.text =
      "\n\n__device__ real reference_state(const Inputs& in, long long i) { return in.nothing(i); "
      "}\n";
  const auto program = reference_program(task, ReferenceBuild::plain);
  REQUIRE(program);
  CHECK_THROWS_WITH(::support::compile_ptx(program->text),
                    Catch::Contains("mixed.cu(3)") && Catch::Contains("nothing"));
}

// A block of a DenseNet in training mode: each entry names every tensor and stage.
TEST_CASE("the text of a graph of many tensors grows with their number") {
  const auto text_of = [](int layers) {
    std::vector<Tensor> tensors = {support::input("x", {"rows", "cols"})};
    std::vector<Operation> operations;
    for (int i = 0; i < layers; ++i) {
      const std::string at = std::to_string(i);
      tensors.push_back(support::input("weight_" + at, {"cols", "cols"}));
      tensors.push_back(support::output("y_" + at, {"rows", "cols"}));
      operations.push_back({"linear_" + at, "linear", {"x", "weight_" + at}, {"y_" + at}});
    }
    const auto task = support::graph_task(tensors, operations, {{"rows", 3}, {"cols", 5}});
    REQUIRE(task);
    return reference_program(*task, ReferenceBuild::tracked)->text;
  };
  const std::string few = text_of(25), many = text_of(50);
  CHECK(many.size() < 2 * few.size());
  CHECK(::support::compile_ptx(few).find("cupilot_stored_tracked_y_24") != std::string::npos);
}

TEST_CASE("text and PTX of a deep graph's reference grow with its layers") {
  for (const bool exposed : {false, true}) {
    INFO((exposed ? "each layer is an output" : "the last layer is the output"));
    std::vector<double> texts, images;
    for (const int layers : {6, 9, 12}) {
      const auto task = support::deep_task(layers, 3, 64, exposed);
      REQUIRE(task);
      const auto program = reference_program(*task, ReferenceBuild::tracked);
      REQUIRE(program);
      CHECK(program->entries.back().entry.empty());
      CHECK(program->entries.back().stored == "cupilot_stored_tracked_y");
      texts.push_back(static_cast<double>(program->text.size()));
      images.push_back(static_cast<double>(::support::compile_ptx(program->text).size()));
    }
    for (const auto& sizes : {texts, images}) {
      INFO(sizes[0] << " " << sizes[1] << " " << sizes[2]);
      CHECK(sizes[2] - sizes[1] < 1.5 * (sizes[1] - sizes[0]));
    }
    CHECK(images.back() < 4e6);
  }
}

TEST_CASE("a task without reference or output has no program") {
  Task task = user_task();
  task.reference.text.clear();
  CHECK_FALSE(reference_program(task, ReferenceBuild::oracle));
  task = user_task();
  task.tensors.resize(2);
  CHECK_FALSE(reference_program(task, ReferenceBuild::oracle));
}

TEST_CASE("the trusted text compiles and holds no include") {
  const std::string text = trusted_text() + R"(
extern "C" __global__ void fill_kernel(cupilot::FillParams p, void* memory) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < p.elements) cupilot::store_bits(memory, cupilot::storage_offset(p, i), p.type, cupilot::fill_bits(p, i));
}
extern "C" __global__ void judge_kernel(cupilot::BoundParams p, const void* got, const double* want, const double* sum, double* ratio) {
  *ratio = cupilot::judge_element(p, cupilot::load_bits(got, 0, p.type), *want, *sum).ratio;
}
)";
  CHECK(text.find("#include") == std::string::npos);
  const std::string ptx = ::support::compile_ptx(text);
  CHECK(ptx.find(".entry fill_kernel") != std::string::npos);
  // Products and sums of the recipe must not be contracted: bits would differ from the host's.
  const std::string filling =
      ptx.substr(ptx.find(".entry fill_kernel"),
                 ptx.find(".entry judge_kernel") - ptx.find(".entry fill_kernel"));
  CHECK(filling.find("fma.rn.f64") == std::string::npos);
}

TEST_CASE("references count roundings of 16 bits where no stored sum hands them on") {
  struct Case {
    const char* what;
    DType in, out, arithmetic;
    const char *op, *length;
    bool counts;
  };
  const auto c = GENERATE(values<Case>({
      {"fp16", DType::f16, DType::f16, DType::f16, "exp", "3", true},
      {"bf16", DType::bf16, DType::bf16, DType::bf16, "exp", "rows", true},
      {"no arithmetic", DType::f16, DType::f16, DType::f32, "exp", "3", false},
      {"an input that is rounded", DType::f32, DType::f16, DType::f16, "exp", "3", false},
      {"an output that is not", DType::f16, DType::f32, DType::f16, "exp", "3", false},
      {"a fold", DType::f16, DType::f16, DType::f16, "softmax", "3", false},
  }));
  INFO(c.what);
  Tensor out = support::output("y", {"rows", "cols"}, c.out);
  out.check = {.kind = CheckKind::within, .length = c.length, .arithmetic = c.arithmetic};
  const auto task = support::graph_task({support::input("x", {"rows", "cols"}, c.in), out},
                                        {support::op("one", c.op, {"x"}, "y")},
                                        {{"rows", 3}, {"cols", 5}}, Precision::fp16);
  REQUIRE(task);
  const auto text = reference_program(*task, ReferenceBuild::tracked)->text;
  CHECK((text.find("#define CUPILOT_ROUNDOFF 0.00") != std::string::npos) == c.counts);
  CHECK((text.find("#define CUPILOT_TERMS 3.0") != std::string::npos) ==
        (c.counts && c.length[0] == '3'));
}

}  // namespace
}  // namespace cupilot
