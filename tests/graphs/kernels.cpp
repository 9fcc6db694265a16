// Kernels of a chain's parts: an element, or a row, a thread; readable, and wrong where asked.
#include <fmt/format.h>

#include <cupilot/rng.hpp>

#include "graphs/text.hpp"

namespace cupilot::graphs {
namespace {

// Rounds by integer arithmetic on the bits, which no list of instructions shows.
constexpr const char* helpers_text = R"(
__device__ float kept(float x, int bits, bool even) {
  unsigned word = __float_as_uint(x);
  if ((word & 0x7f800000u) == 0x7f800000u) return x;
  const int cut = 23 - bits;
  const unsigned half = 1u << (cut - 1);
  word += even ? half - 1u + (word >> cut & 1u) : half;
  return __uint_as_float(word & ~((1u << cut) - 1u));
}
__device__ float as_f32(float x) { return x; }
__device__ float as_tf32(float x) { return kept(x, 10, false); }
__device__ float as_fp16(float x) {
  const float rounded = kept(x, 10, true);
  if (fabsf(rounded) > 65504.0f) return copysignf(__uint_as_float(0x7f800000u), x);
  return fabsf(x) < 0x1p-14f ? rintf(x * 0x1p24f) * 0x1p-24f : rounded;
}
__device__ float as_bf16(float x) { return kept(x, 7, true); }
__device__ float relu(float v) { return v < 0.0f ? 0.0f : v; }
__device__ float gelu(float v) { return 0.5f * v * (1.0f + erff(v * 0.70710678118654752f)); }
__device__ float silu(float v) { return v / (1.0f + expf(-v)); }
__device__ float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }
__device__ float softplus(float v) { return v > 20.0f ? v : log1pf(expf(v)); }
)";

// Sums terms `TERM(i)` for i below `count` in one of five orders.
constexpr const char* orders[] = {
    "  for (int i = 0; i < count; ++i) acc = TERM(i, acc);\n",
    "  for (int i = count - 1; i >= 0; --i) acc = TERM(i, acc);\n",
    "  float part[4] = {};\n  for (int i = 0; i < count; ++i) part[i % 4] = TERM(i, part[i % 4]);\n"
    "  acc = part[0] + part[1] + (part[2] + part[3]);\n",
    "  for (int begin = 0; begin < count; begin += 32) {\n    float part = 0.0f;\n"
    "    for (int i = begin; i < min(begin + 32, count); ++i) part = TERM(i, part);\n"
    "    acc += part;\n  }\n",
    "  float part[2] = {};\n  for (int i = 0; i < count; ++i) {\n"
    "    const int half = 2 * i >= count;\n    part[half] = TERM(i, part[half]);\n  }\n"
    "  acc = part[0] + part[1];\n"};

class PartText {
 public:
  PartText(const Chain& chain, const Part& part, const PartTask& form, const Fault& fault,
           std::uint64_t seed)
      : chain_(chain), part_(part), form_(form), fault_(fault), seed_(seed) {}

  KernelSource source() {
    KernelSource source;
    const Step& first = step(part_[0]);
    const bool rowwise = first.folds() && !first.contracts();
    source.text = helpers() + (rowwise ? row_kernel(first) : element_kernel(first));
    PlanLaunch launch;
    launch.entry = launch.name = "part";
    launch.grid = {Expr(rowwise ? "cdiv(rows, 32)" : fmt::format("cdiv(rows * {}, 128)", width()))};
    launch.block = {rowwise ? 32 : 128};
    for (const Tensor& tensor : form_.task.tensors)
      launch.args.push_back({PlanArgument::Kind::name, tensor.name, 0});
    for (const Axis& axis : form_.task.axes)
      launch.args.push_back({PlanArgument::Kind::i32, "", Expr(axis.name)});
    source.plan.launches.push_back(std::move(launch));
    return source;
  }

 private:
  const Step& step(int number) const { return chain_.steps[static_cast<std::size_t>(number)]; }
  bool has(Kind kind, int number) const {
    return fault_.kind == kind && fault_.step == static_cast<std::size_t>(number);
  }
  const Operation& operation(std::size_t place) const { return form_.task.operations[place]; }
  std::string output() const {
    for (const Tensor& tensor : form_.task.tensors)
      if (tensor.role == Role::out) return tensor.name;
    return "";
  }
  // The last extent of a tensor.
  std::string last_of(const std::string& name) const {
    return find_tensor(form_.task, name)->shape.back().text;
  }
  std::string width() const { return last_of(output()); }

  std::string head() const {
    std::string out;
    for (const Tensor& tensor : form_.task.tensors)
      out += fmt::format("{}{}float* {}", out.empty() ? "" : ", ",
                         tensor.role == Role::out ? "" : "const ", tensor.name);
    for (const Axis& axis : form_.task.axes) out += ", int " + axis.name;
    return "extern \"C\" __global__ void part(" + out + ") {\n";
  }

  std::string summed(const std::string& term, const std::string& count) {
    return graphs::summed(seed_, part_[0], term, count);
  }
  const char* dropped(int number) const { return has(Kind::dropped_term, number) ? " - 1" : ""; }

  const char* operand(int number) const { return operand_of(fault_, number); }

  std::string pointwise(std::size_t place) const {
    const Operation& what = operation(place);
    const int number = part_[place];
    const std::string& name = step(number).name;
    std::string out = name == "residual" ? fmt::format("  v = v + {}[e];\n", what.inputs[1])
                      : name == "scale"  ? fmt::format("  v = v * {}[c];\n", what.inputs[1])
                      : name == "tanh"   ? "  v = tanhf(v);\n"
                                         : fmt::format("  v = {}(v);\n", name);
    return out + rounded(number);
  }
  std::string rounded(int number) const {
    return has(Kind::rounded_edge, number) ? "  v = as_bf16(v);\n" : "";
  }

  std::string element_kernel(const Step& first) {
    const std::string n = width();
    std::string out = head();
    out += fmt::format(
        "  const int e = blockIdx.x * 128 + threadIdx.x;\n  if (e >= rows * {0}) return;\n"
        "  const int r = e / {0}, c = e % {0};\n",
        n);
    std::size_t next = 0;
    if (first.contracts()) {
      const Operation& what = operation(0);
      const std::string k = last_of(what.inputs[0]);
      out += "  float acc = 0.0f;\n" +
             summed(fmt::format("fmaf({0}({1}[r * {3} + (i)]), {0}({2}[c * {3} + (i)]), acc)",
                                operand(part_[0]), what.inputs[0], what.inputs[1], k),
                    k + dropped(part_[0]));
      out += "  float v = acc;\n";
      if (first.name == "linear_bias") out += fmt::format("  v = v + {}[c];\n", what.inputs[2]);
      out += rounded(part_[0]);
      next = 1;
    } else {
      out += fmt::format("  float v = {}[e];\n", operation(0).inputs[0]);
    }
    for (; next < part_.size(); ++next) out += pointwise(next);
    return out + fmt::format("  {}[e] = v;\n}}\n", output());
  }

  std::string row_kernel(const Step& first) {
    const std::string n = width();
    const std::string& x = operation(0).inputs[0];
    std::string out = head();
    out += fmt::format(
        "  const int r = blockIdx.x * 32 + threadIdx.x;\n  if (r >= rows) return;\n"
        "  const float* line = {} + r * {};\n  float acc = 0.0f;\n",
        x, n);
    const std::string count = n + dropped(part_[0]);
    std::string value;
    if (first.name == "softmax") {
      out += fmt::format(
          "  float most = line[0];\n  for (int i = 1; i < {}; ++i) most = fmaxf(most, line[i]);\n"
          "  for (int i = 0; i < {}; ++i) if (line[i] != line[i]) most = line[i];\n",
          n, n);
      out += summed("acc + expf(line[i] - most)", count);
      value = "expf(line[i] - most) / acc";
    } else if (first.name == "rms_norm") {
      out += summed("fmaf(line[i], line[i], acc)", count);
      out += fmt::format("  const float scale = sqrtf(acc / {} + 1e-5f);\n", n);
      value = "line[i] / scale";
    } else {
      out += summed("acc + line[i]", count);
      out += fmt::format("  const float mean = acc / {};\n  acc = 0.0f;\n", n);
      out += summed("fmaf(line[i] - mean, line[i] - mean, acc)", n);
      out += fmt::format("  const float scale = sqrtf(acc / {} + 1e-5f);\n", n);
      value = "(line[i] - mean) / scale";
    }
    return out + fmt::format(
                     "  for (int i = 0; i < {0}; ++i) {{\n    float v = {1};\n  {2}"
                     "    {3}[r * {0} + i] = v;\n  }}\n}}\n",
                     n, value, rounded(part_[0]), output());
  }

  const Chain& chain_;
  const Part& part_;
  const PartTask& form_;
  const Fault& fault_;
  std::uint64_t seed_;
};

}  // namespace

std::string helpers() { return helpers_text; }

std::string summed(std::uint64_t seed, int part, const std::string& term,
                   const std::string& count) {
  const auto order = Rng::of(seed, "order", static_cast<std::uint64_t>(part)).next() % 5;
  return fmt::format(
      "  {{\n#define TERM(i, acc) ({})\n  const int count = {};\n{}#undef TERM\n  }}\n", term,
      count, orders[order]);
}

const char* operand_of(const Fault& fault, int number) {
  if (fault.step != static_cast<std::size_t>(number)) return "as_f32";
  switch (fault.kind) {
    case Kind::tf32:
      return "as_tf32";
    case Kind::fp16:
      return "as_fp16";
    case Kind::bf16:
      return "as_bf16";
    default:
      return "as_f32";
  }
}

Result<std::vector<PartKernel>> kernels_of(const Chain& chain, const Task& task, const Fault& fault,
                                           std::uint64_t seed) {
  std::vector<PartKernel> kernels;
  for (const Part& part : partition_of(chain)) {
    auto form = graph_part(task, part);
    if (!form) return form.error();
    KernelSource source = PartText(chain, part, *form, fault, seed).source();
    kernels.push_back({std::move(*form), std::move(source)});
  }
  return kernels;
}

}  // namespace cupilot::graphs
