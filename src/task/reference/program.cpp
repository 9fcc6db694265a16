#include "task/reference/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "task/content.hpp"
#include "task/reference/stages.hpp"

namespace cupilot {
namespace {

constexpr std::array<const char*, 5> build_names = {"oracle", "plain", "tracked", "in_turn",
                                                    "by_eights"};

const char* result_parameters(ReferenceBuild build) {
  switch (build) {
    case ReferenceBuild::oracle:
      return "double* values, long long begin, long long count";
    case ReferenceBuild::tracked:
      return "double* values, double* sums, const long long* begins, long long slice, "
             "long long count";
    default:
      return "void* output, long long begin, long long count";
  }
}

// Sets how many terms a fold combines one after the other (kernels/trusted/tree.cuh).
const char* order_text(ReferenceBuild build) {
  return build == ReferenceBuild::in_turn     ? "#define CUPILOT_TREE_BLOCK (1ll << 40)\n"
         : build == ReferenceBuild::by_eights ? "#define CUPILOT_TREE_BLOCK 8\n"
                                              : "";
}

bool has_output(const Tensor& tensor) {
  return tensor.role == Role::out || tensor.role == Role::in_out;
}
bool is_read(const Tensor& tensor) { return tensor.role != Role::out; }

// The arithmetic a build is done in. Integers up to 2^53 are exact in double.
const char* real_of(const Task& task, ReferenceBuild build) {
  if (build == ReferenceBuild::tracked) return "tracked";
  if (build == ReferenceBuild::oracle) return "double";
  return task.precision == Precision::fp64 || task.precision == Precision::integer ? "double"
                                                                                   : "float";
}

// (8 sqrt(L) u)^2 S_a S_b stays below 2^-13 of the bound's own unit up to L = 2^28 for errors of
// the size honest sums have.
const char* second_order(Precision precision) {
  const bool strict = precision == Precision::fp32_strict || precision == Precision::fp64 ||
                      precision == Precision::integer;
  return strict ? "0x1p-13" : "1.0";
}

// Lets the condition sum count the roundings of arithmetic in 16 bits, where the reference's text
// alone makes them: no stored sum hands them on, inputs are numbers of the type, and all outputs
// are rounded to it at last.
std::string roundoff_text(const Task& task) {
  const auto& stages = task.reference.stages;
  double roundoff = 0, terms = 0;
  int outputs = 0;
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role != Role::out && tensor.role != Role::in_out) continue;
    const double own = unit_roundoff(tensor.check.arithmetic);
    const bool narrow = tensor.check.kind == CheckKind::within && own > unit_roundoff(DType::f32) &&
                        unit_roundoff(tensor.type) >= own;
    if (!narrow || (outputs++ > 0 && roundoff != own)) return "";
    roundoff = own;
    const ExprValue length = evaluate(tensor.check.length, scope_of({}));
    const auto* number = std::get_if<std::int64_t>(&length);
    const double given =
        number == nullptr ? 1.0 : static_cast<double>(std::max<std::int64_t>(*number, 1));
    terms = outputs == 1 ? given : std::min(terms, given);
  }
  const bool mapped = std::all_of(stages.begin(), stages.end(), [](const ReferenceStage& stage) {
    return stage.kind == StageKind::map && stage.repeat.empty();
  });
  const bool held =
      std::all_of(task.tensors.begin(), task.tensors.end(), [&](const Tensor& tensor) {
        return tensor.role == Role::out || !is_float_type(static_cast<int>(tensor.type)) ||
               unit_roundoff(tensor.type) >= roundoff;
      });
  if (roundoff == 0 || !held || !mapped || (!stages.empty() && outputs > 1)) return "";
  return fmt::format(
      "#define CUPILOT_ROUNDOFF {}\n#define CUPILOT_GRANTED {}\n#define CUPILOT_TERMS {:.1f}\n",
      roundoff, 8.0 * std::sqrt(terms), terms);
}

// The functions of the expression language; static members, so that shapes and strides stand in C++
// as they are.
constexpr const char* expr_functions = R"(
  __device__ static long long min(long long a, long long b) { return a < b ? a : b; }
  __device__ static long long max(long long a, long long b) { return a > b ? a : b; }
  __device__ static long long cdiv(long long a, long long b) { return a / b + (a % b != 0); }
  __device__ static long long up(long long a, long long b) { return cdiv(a, b) * b; }
  __device__ static long long log2(long long a) {
    int bits = 0;
    while (a > 1) {
      a >>= 1;
      ++bits;
    }
    return bits;
  }
  __device__ static long long pow2(long long a) { return a <= 1 ? 1 : 2ll << log2(a - 1); }
  __device__ static long long isqrt(long long a) {
    long long root = 0;
    for (long long bit = 1ll << 31; bit > 0; bit >>= 1) {
      const long long next = root + bit;
      if (next <= a / next) root = next;
    }
    return root;
  }
)";

// Deals elements to threads, `count` in order: the threads of a warp take a tile of
// rows and columns, and so read a few lines of each operand, whatever the layouts, where a row of
// elements may read a line for each of them. What fills no whole row stays in order.
constexpr const char* dealing = R"(
__device__ long long cupilot_dealt(long long thread, long long count, long long columns) {
  const long long high = 4, wide = 8;
  const long long band = thread / (high * columns) * high;
  const long long rows = count / columns - band < high ? count / columns - band : high;
  const long long in_band = thread - band * columns;
  if (in_band >= rows * columns) return thread;
  const long long tile = in_band / (rows * wide) * wide;
  const long long width = columns - tile < wide ? columns - tile : wide;
  const long long in_tile = in_band - rows * tile;
  return (band + in_tile / width) * columns + tile + in_tile % width;
}

)";

// Elements that share operands lie along both of the last two axes, where anything is summed over.
bool has_tiles(const Task& task, const Tensor& tensor) {
  const bool sums = std::any_of(task.axes.begin(), task.axes.end(),
                                [](const Axis& a) { return a.kind == AxisKind::reduced; });
  return sums && tensor.shape.size() >= 2;
}

// Storage offset of a dense index, over the sizes.
std::string offset_text(const Tensor& tensor) {
  if (tensor.strides.empty()) return "index";
  std::string sum = "0";
  std::string rest = "index";
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    sum += fmt::format(" + {} % ({}) * ({})", rest, tensor.shape[d].text, tensor.strides[d].text);
    rest = fmt::format("({} / ({}))", rest, tensor.shape[d].text);
  }
  return sum;
}

std::string tensor_members(const Tensor& tensor, ReferenceBuild build) {
  const char* element = build == ReferenceBuild::tracked ? "tracked_term" : "real";
  const std::string& name = tensor.name;
  const auto type = static_cast<int>(tensor.type);
  std::string out = fmt::format("  // {}: {}\n", name, name_of(tensor.type));
  if (has_output(tensor)) {
    const std::string columns = tensor.shape.empty() ? "1" : tensor.shape.back().text;
    out += fmt::format("  __device__ long long cupilot_columns_{}() const {{ return {}; }}\n", name,
                       columns);
  }
  out += fmt::format(
      "  __device__ long long cupilot_offset_{}(long long index) const {{ return {}; }}\n", name,
      offset_text(tensor));
  if (!is_read(tensor)) return out;
  out += fmt::format("  const void* cupilot_{};\n", name);
  if (is_float_type(type)) {
    return out + fmt::format(
                     "  __device__ {2} {0}(long long index) const {{\n"
                     "    return {2}(cupilot::load_real(cupilot_{0}, cupilot_offset_{0}(index), "
                     "{1}));\n  }}\n",
                     name, type, element);
  }
  return out + fmt::format(
                   "  __device__ long long {0}(long long index) const {{\n"
                   "    return cupilot::load_integer(cupilot_{0}, cupilot_offset_{0}(index), "
                   "{1});\n  }}\n",
                   name, type);
}

// Which stages are members of the inputs: of those that find every stage in memory all of them, of
// the others those of values that may be computed from inputs alone.
std::vector<bool> members_of(const Task& task, bool stored) {
  if (stored) return std::vector<bool>(task.reference.stages.size(), true);
  return directly_read(task.reference.stages);
}

// True if the output's values may be computed from inputs alone.
bool is_direct(const Task& task, const Tensor& tensor) {
  const auto direct = members_of(task, false);
  for (std::size_t i = direct.size(); i-- > 0;) {
    if (task.reference.stages[i].name == tensor.name) return direct[i];
  }
  return true;
}

const char* inputs_name(bool stored) { return stored ? "StoredInputs" : "Inputs"; }

std::string inputs_struct(const Task& task, ReferenceBuild build, bool stored) {
  std::string out = fmt::format("struct {} {{\n", inputs_name(stored));
  for (const Axis& axis : task.axes) out += fmt::format("  long long {};\n", axis.name);
  for (const Scalar& scalar : task.scalars) out += fmt::format("  real {};\n", scalar.name);
  for (const Tensor& tensor : task.tensors) out += tensor_members(tensor, build);
  out += expr_functions;
  const auto members = members_of(task, stored);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i]) out += stage_members(task, i, stored);
  }
  return out + "};\n\n";
}

std::string parameters(const Task& task) {
  std::string out;
  for (const Tensor& tensor : task.tensors) {
    if (is_read(tensor)) out += fmt::format("const void* p_{}, ", tensor.name);
  }
  for (const Scalar& scalar : task.scalars) out += fmt::format("double p_{}, ", scalar.name);
  for (const Axis& axis : task.axes) out += fmt::format("long long p_{}, ", axis.name);
  for (const ReferenceStage& stage : task.reference.stages) {
    if (is_storable(stage)) out += fmt::format("const cupilot_number* p_stage_{}, ", stage.name);
  }
  return out;
}

std::string store_text(const Tensor& tensor, ReferenceBuild build) {
  if (build == ReferenceBuild::oracle) return "  values[at] = value_of(result);\n";
  if (build == ReferenceBuild::tracked)
    return "  values[at] = value_of(result);\n  sums[at] = sum_of(result);\n";
  const auto type = static_cast<int>(tensor.type);
  return fmt::format(
      "  cupilot::store_bits(output, in.cupilot_offset_{0}(index), {1}, "
      "cupilot::encode(value_of(result), {1}));\n",
      tensor.name, type);
}

// A slice a row of blocks.
constexpr const char* slice_text = R"(  const long long begin = begins[blockIdx.y];
  values += blockIdx.y * slice;
  sums += blockIdx.y * slice;
  count -= blockIdx.y * slice;
  if (count > slice) count = slice;
)";

// The thread's number and the inputs of an entry.
std::string begin_text(const Task& task, bool stored) {
  std::string out = fmt::format(
      "  const long long thread = blockIdx.x * 256ll + threadIdx.x;\n  if (thread >= count) "
      "return;\n  {} in;\n",
      inputs_name(stored));
  for (const Axis& axis : task.axes) out += fmt::format("  in.{0} = p_{0};\n", axis.name);
  // A kernel gets the scalar as its type; so does the reference.
  for (const Scalar& scalar : task.scalars) {
    out += fmt::format("  in.{0} = real(static_cast<{1}>(p_{0}));\n", scalar.name,
                       scalar.type == DType::f32 ? "float" : "double");
  }
  for (const Tensor& input : task.tensors) {
    if (is_read(input)) out += fmt::format("  in.cupilot_{0} = p_{0};\n", input.name);
  }
  const auto members = members_of(task, stored);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const ReferenceStage& stage = task.reference.stages[i];
    if (members[i] && is_storable(stage))
      out += fmt::format("  in.cupilot_stored_{0} = p_stage_{0};\n", stage.name);
  }
  return out;
}

// Every entry names every tensor and stage. From so many on they are written once, as macros.
constexpr std::size_t most_spelled = 64;
bool has_macros(const Task& task) {
  return task.tensors.size() + task.reference.stages.size() > most_spelled;
}

std::string as_macro(const std::string& name, const std::string& text, const std::string& between) {
  std::string out = "#define " + name + " ";
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = std::min(text.find(between, at), text.size());
    end = std::min(end + between.size(), text.size());
    std::string line = text.substr(at, end - at);
    std::erase(line, '\n');
    out += line + (end < text.size() ? "\\\n" : "");
  }
  return out + "\n";
}

std::string macros(const Task& task) {
  if (!has_macros(task)) return "";
  return as_macro("CUPILOT_PARAMETERS", parameters(task), ", ") +
         as_macro("CUPILOT_BEGIN", begin_text(task, false), ";\n") +
         as_macro("CUPILOT_BEGIN_STORED", begin_text(task, true), ";\n");
}

std::string parameters_or_macro(const Task& task) {
  return has_macros(task) ? "CUPILOT_PARAMETERS " : parameters(task);
}

std::string begin_or_macro(const Task& task, bool stored) {
  if (!has_macros(task)) return begin_text(task, stored);
  return stored ? "CUPILOT_BEGIN_STORED\n" : "CUPILOT_BEGIN\n";
}

std::string entry_text(const Task& task, const Tensor& tensor, ReferenceBuild build,
                       const std::string& entry, bool stored) {
  std::string out = fmt::format("extern \"C\" __global__ void {}({}{}) {{\n", entry,
                                parameters_or_macro(task), result_parameters(build));
  if (build == ReferenceBuild::tracked) out += slice_text;
  out += begin_or_macro(task, stored);
  out +=
      has_tiles(task, tensor)
          ? fmt::format(
                "  const long long at = cupilot_dealt(thread, count, in.cupilot_columns_{}());\n",
                tensor.name)
          : "  const long long at = thread;\n";
  out += "  const long long index = begin + at;\n";
  out += fmt::format("  const real result = real(reference_{}(in, index));\n", tensor.name);
  return out + store_text(tensor, build) + "}\n\n";
}

std::string stage_text(const Task& task, std::size_t number, const std::string& entry) {
  return fmt::format("extern \"C\" __global__ void {}({}{}) {{\n{}{}}}\n\n", entry,
                     parameters_or_macro(task),
                     "const cupilot_number* from, cupilot_number* out, long long span, "
                     "long long parts, long long from_parts, long long count",
                     begin_or_macro(task, true), stage_entry_body(task, number));
}

// The text that defines reference_X of each output.
std::string definitions(const Task& task) {
  if (task.reference.stages.empty()) {
    return fmt::format("#line 1 \"{}\"\n{}\n",
                       task.reference.file.empty() ? "reference.cu" : task.reference.file,
                       task.reference.text);
  }
  std::string out;
  for (const ReferenceStage& stage : task.reference.stages) {
    const Tensor* tensor = find_tensor(task, stage.name);
    if (tensor != nullptr && has_output(*tensor)) out += stage_as_output(stage);
  }
  return out;
}

}  // namespace

std::int64_t stage_number_bytes(const Task& task, ReferenceBuild build) {
  if (build == ReferenceBuild::tracked) return 16;
  return std::string_view(real_of(task, build)) == "float" ? 4 : 8;
}

std::vector<std::string> entry_names(const ReferenceProgram& program) {
  std::vector<std::string> names;
  for (const StageEntry& stage : program.stages) names.push_back(stage.entry);
  for (const ReferenceEntry& entry : program.entries) {
    if (!entry.entry.empty()) names.push_back(entry.entry);
    if (!entry.stored.empty()) names.push_back(entry.stored);
  }
  return names;
}

Result<ReferenceProgram> reference_program(const Task& task, ReferenceBuild build) {
  if (task.reference.text.empty() && task.reference.stages.empty()) {
    return Error{ErrorCode::usage, fmt::format("task '{}' has no reference text", task.name),
                 "see docs/formats/task.md"};
  }
  const char* const name = build_names[static_cast<std::size_t>(build)];
  ReferenceProgram program;
  program.text = fmt::format("// Reference of task '{}', {} build.\n", task.name, name);
  program.text += fmt::format("#define CUPILOT_SECOND_ORDER {}\n", second_order(task.precision));
  program.text += fmt::format("#define CUPILOT_SPLITS {}\n", rounds_inputs(task) ? 1 : 0);
  if (build == ReferenceBuild::tracked) program.text += roundoff_text(task);
  program.text += order_text(build);
  for (const char* file : {"trusted/storage.cuh", "trusted/tracked.cuh", "trusted/tree.cuh"}) {
    const bool staged = !task.reference.stages.empty();
    if (staged || file != std::string_view("trusted/tree.cuh"))
      program.text += without_includes(find_embedded(trusted_files(), file));
  }
  program.text += fmt::format("\nusing real = {};\n", real_of(task, build));
  if (!task.reference.stages.empty()) {
    program.text +=
        fmt::format("using cupilot_number = {};\n",
                    build == ReferenceBuild::tracked ? "cupilot::StoredTracked" : "real");
  }
  for (const auto& [constant, value] : task.constants)
    program.text += fmt::format("constexpr long long {} = {};\n", constant, value);
  program.text += dealing;
  const bool stores =
      std::any_of(task.reference.stages.begin(), task.reference.stages.end(), is_storable);
  program.text += inputs_struct(task, build, false);
  if (stores) program.text += inputs_struct(task, build, true);
  program.text += definitions(task) + "#line 1 \"entries\"\n" + macros(task);
  for (std::size_t i = 0; i < task.reference.stages.size(); ++i) {
    if (!is_storable(task.reference.stages[i])) continue;
    const std::string entry =
        fmt::format("cupilot_stage_{}_{}", name, task.reference.stages[i].name);
    program.text += stage_text(task, i, entry);
    program.stages.push_back({entry, i});
  }
  for (const Tensor& tensor : task.tensors) {
    if (!has_output(tensor)) continue;
    ReferenceEntry entry{"", tensor.name};
    if (!stores || is_direct(task, tensor)) {
      entry.entry = fmt::format("cupilot_{}_{}", name, tensor.name);
      program.text += entry_text(task, tensor, build, entry.entry, false);
    }
    if (stores) {
      entry.stored = fmt::format("cupilot_stored_{}_{}", name, tensor.name);
      program.text += entry_text(task, tensor, build, entry.stored, true);
    }
    program.entries.push_back(std::move(entry));
  }
  if (program.entries.empty()) {
    return Error{ErrorCode::usage, fmt::format("task '{}' has no output", task.name),
                 "give one tensor the role out or in_out"};
  }
  return program;
}

}  // namespace cupilot
