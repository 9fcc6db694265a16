#include "task/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cupilot/rng.hpp>

#include "task/axes.hpp"
#include "task/borrowed_scope.hpp"
#include "task/file_content.hpp"
#include "task/operators.hpp"

namespace cupilot {

namespace {

// The kernels' plain integers follow the public enumerations.
static_assert(static_cast<int>(DType::f64) == storage_f64 &&
              static_cast<int>(DType::e5m2) == storage_e5m2 &&
              static_cast<int>(DType::i64) == storage_i64 &&
              static_cast<int>(DType::boolean) == storage_bool);
static_assert(static_cast<int>(FillKind::normal) == fill_normal &&
              static_cast<int>(FillKind::signs) == fill_signs &&
              static_cast<int>(FillKind::ones) == fill_ones &&
              static_cast<int>(FillKind::file) == fill_file);
static_assert(static_cast<int>(Structure::diagonal) == structure_diagonal);
static_assert(static_cast<int>(ContentKind::probe) == content_probe &&
              static_cast<int>(ContentKind::integers) == content_integers &&
              static_cast<int>(last_content) == content_infinite_lines);
static_assert(static_cast<int>(CheckKind::custom) == check_custom);

// Deviation of normal_raw: 2^50 * sqrt(4 / 12).
constexpr double normal_deviation = 650038614296163.5;

// Bounds values so that a few products and sums of them stay in the type's range.
struct Extremes {
  double huge, swing;
};
Extremes extremes_of(Precision precision, DType type) {
  // Wider data that enters products as fp16 has its range.
  if (precision == Precision::fp16 && size_of(type) > 2) type = DType::f16;
  const bool eight_bits = precision == Precision::fp8 || precision == Precision::fp8_promoted;
  if (eight_bits && size_of(type) > 1) type = DType::e4m3;
  switch (type) {
    case DType::f16:
      return {1000.0, 64.0};
    case DType::e4m3:
      return {64.0, 4.0};
    case DType::e5m2:
      return {1024.0, 16.0};
    default:
      return {1e15, 1e4};
  }
}

// Between what a search for an extreme may begin with and the end of fp16. Arithmetic in fp16 would
// leave its range.
constexpr double far_of_halves = 61000.0;

bool is_reduced(const Task& task, const Expr& extent) {
  return std::any_of(task.axes.begin(), task.axes.end(), [&](const Axis& axis) {
    return axis.kind == AxisKind::reduced && names_axis(extent, axis.name);
  });
}

// The innermost dimension that a reduced axis spans, else the innermost.
std::size_t line_dimension(const Task& task, const Tensor& tensor) {
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    if (is_reduced(task, tensor.shape[d])) return d;
  }
  return tensor.shape.size() - 1;
}

bool leaves_out(const Task& task, const std::string& name) {
  const Tensor* tensor = find_tensor(task, name);
  return tensor != nullptr && tensor->fill.structure != Structure::dense &&
         tensor->fill.structure != Structure::symmetric;
}

bool holds_infinity(const Task& task, const Tensor& tensor) {
  return is_float_type(static_cast<int>(tensor.type)) && tensor.type != DType::e4m3 &&
         !stays_finite(task, tensor);
}

ContentKind content_of(const Task& task, const Tensor& tensor, ContentKind kind) {
  const bool whole = !is_float_type(static_cast<int>(tensor.type));
  if (tensor.fill.values == FillValues::range && !whole) return ContentKind::ordinary;
  if (kind == ContentKind::infinite_lines)
    return holds_infinity(task, tensor) ? kind : ContentKind::ordinary;
  return kind == ContentKind::special && stays_finite(task, tensor) ? ContentKind::ordinary : kind;
}

bool is_first_float_input(const Task& task, std::size_t tensor) {
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    const Tensor& candidate = task.tensors[i];
    if (candidate.role != Role::out && is_float_type(static_cast<int>(candidate.type)))
      return i == tensor;
  }
  return false;
}

Result<std::int64_t> fill_limit(const Task& task, const Tensor& tensor, const Workload& workload) {
  const bool file = tensor.fill.kind == FillKind::file;
  if (file && tensor.type == DType::boolean) return std::int64_t{2};
  if (file && !is_counted(tensor)) return std::int64_t{0};
  if (!file && tensor.fill.kind != FillKind::integers && tensor.fill.kind != FillKind::labels)
    return std::int64_t{1};
  auto below = evaluate_or_error(tensor.fill.below, borrowed_scope(task, workload));
  if (below && *below < 1) {
    return Error{
        ErrorCode::usage,
        fmt::format("task '{}', tensor '{}': fill.below is {}", task.name, tensor.name, *below),
        "integers and labels need an upper end of at least 1"};
  }
  return below;
}

// Roundoff of accumulations grows with sqrt(L) for IEEE additions; tensor cores truncate, which
// adds up linearly. Slope: units of 2^-24 an accumulated element (docs/formats/numerics.md derives
// them from facts/h200.md).
double truncation_slope(Precision precision) {
  switch (precision) {
    case Precision::fp32_emulated:
      return 1.5;
    case Precision::bf16x3:
      return 0.75;
    case Precision::tf32:
      return 0.5;
    case Precision::fp16:
    case Precision::bf16:
      return 0.25;
    case Precision::fp8_promoted:
    case Precision::fp8:
      return 600.0;
    default:
      return 0.0;
  }
}

// Returns how many terms the tensor core sums before a wider type takes over.
double truncated_terms(Precision precision, double terms) {
  return precision == Precision::fp8_promoted ? std::min(terms, 128.0) : terms;
}

// Returns how many input_roundoffs two operands of a product may lose together where the class
// rounds them.
double input_factor(Precision precision) {
  switch (precision) {
    case Precision::fp32_emulated:
      return 1.0;
    case Precision::bf16x3:
      return 2.0;
    default:
      return 4.0;  // two operands, each truncated: one bit worse than rounded
  }
}

// True if the tensor enters no product on tensor cores: what a matrix product takes beside its two
// operands, such as a bias or scales, is added and multiplied in fp32.
bool stays_wide(const Task& task, const std::string& tensor) {
  const auto beside = [&](const Operation& operation) {
    const auto at = std::find(operation.inputs.begin(), operation.inputs.end(), tensor);
    if (at == operation.inputs.end()) return true;
    const OperatorRow* row = find_operator(operation.kind);
    return row != nullptr && row->factors > 0 &&
           static_cast<std::size_t>(at - operation.inputs.begin()) >= row->factors;
  };
  return !task.operations.empty() &&
         std::all_of(task.operations.begin(), task.operations.end(), beside);
}

double underflow_of(DType type) {
  switch (type) {
    case DType::f64:
      return 0x1p-1022;
    case DType::f16:
      return 0x1p-24;
    case DType::e4m3:
      return 0x1p-9;
    case DType::e5m2:
      return 0x1p-16;
    default:
      // fp32 and bf16: a flushed denormal is 2^-126; x / (1 + exp(-x)) is zero once the exponential
      // overflows, below 2^-121.
      return 0x1p-120;
  }
}

// The two tensors whose products a task adds up that has one of our references. Of a reference of
// the user's nobody knows what it multiplies.
std::span<const std::string> multiplied(const Task& task) {
  if (task.operations.size() != 1 || task.operations[0].inputs.size() < 2) return {};
  const OperatorRow* row = find_operator(task.operations[0].kind);
  if (row == nullptr || row->factors != 2) return {};
  const bool known =
      !task.reference.stages.empty() ||
      std::any_of(row->references.begin(), row->references.end(), [&](const std::string& file) {
        return task.reference.text == operator_reference(row->group + "/" + file);
      });
  return known ? std::span(task.operations[0].inputs).first(2) : std::span<const std::string>();
}

// Content integers: whether the tensor is the one of full significands, of the operands of a
// product either one.
bool is_wide(const Task& task, const Tensor& tensor, std::uint64_t seed) {
  const auto operands = multiplied(task);
  if (operands.empty())
    return is_first_float_input(task, static_cast<std::size_t>(&tensor - task.tensors.data()));
  return tensor.name == operands[seed % 2];  // a seed and the next have both
}

// All significand bits of narrow types; of wider ones 12, which tf32 cuts while sums stay exact.
int integer_bits(const Tensor& tensor) {
  return is_float_type(static_cast<int>(tensor.type))
             ? std::min(12, std::ilogb(1.0 / unit_roundoff(tensor.type)))
             : 0;
}

// Content integers: what the tensor's values are multiples of. Operands of a product lie about
// where ordinary content does.
double integer_unit(const Task& task, const Tensor& tensor, std::uint64_t seed) {
  const auto operands = multiplied(task);
  if (std::find(operands.begin(), operands.end(), tensor.name) == operands.end()) return 1.0;
  const int draw = static_cast<int>(Rng::of(seed, "unit of " + tensor.name).next() % 3);
  return std::ldexp(1.0, is_wide(task, tensor, seed) ? draw + 1 - integer_bits(tensor) : -1 - draw);
}

// True if whole numbers of a file are all below the limit that they have at a shape.
bool stays_below(const FillParams& p) {
  if (is_float_type(p.type) || p.below <= 0) return true;
  for (long long place = 0; place < p.given_count; ++place) {
    const long long value = load_integer(p.given, place, p.type);
    if (value < 0 || value >= p.below) return false;
  }
  return true;
}

// Takes the bytes of a content from a file, and whether they are the storage here.
Result<void> take_file(FillParams& p, const Task& task, const Tensor& tensor) {
  if (tensor.role == Role::out || tensor.fill.kind != FillKind::file) return {};
  const FileContent& file = tensor.fill.file;
  auto bytes = file_bytes(file);
  if (!bytes) {
    return std::move(bytes.error())
        .while_doing(fmt::format("task '{}', tensor '{}'", task.name, tensor.name));
  }
  p.given = bytes->data();
  p.given_count = file.bytes / size_of(tensor.type);
  p.given_key = std::stoull(file.sha256.substr(0, 16), nullptr, 16) | 1;
  p.given_whole = p.span == p.given_count && stays_below(p) ? 1 : 0;
  return {};
}

// Elements that an input has at least whose special values meet those of others.
constexpr long long least_for_meetings = 64;

// True for an input whose special values may meet those of others: its last dimension is not summed
// over, or lines would lose what is told of one value alone.
bool may_meet(const Task& task, const Tensor& tensor) {
  return tensor.role != Role::out && is_float_type(static_cast<int>(tensor.type)) &&
         tensor.fill.structure == Structure::dense && !tensor.shape.empty() &&
         content_of(task, tensor, ContentKind::special) == ContentKind::special &&
         !is_reduced(task, tensor.shape.back());
}

// Says where special values of a tensor meet those of the inputs that have its last extent: at
// equal places of a row, the same row where they have as many.
void let_meet(FillParams& p, const Task& task, const Tensor& tensor, const Workload& workload,
              std::uint64_t seed) {
  if (p.rank == 0 || !may_meet(task, tensor)) return;
  const long long width = p.extents[p.rank - 1];
  int count = 0, number = 0;
  bool alike = true;
  for (const Tensor& other : task.tensors) {
    const auto shape = may_meet(task, other) ? shape_of(task, other, workload)
                                             : Result<TensorShape>(TensorShape{});
    if (!shape || shape->extents.empty() || shape->extents.back() != width) continue;
    ++count;
    alike = alike && shape->elements == p.elements;
    if (&other == &tensor) number = count;
  }
  const long long room = alike ? p.elements : width;
  if (count < 2 || room < least_for_meetings) return;
  const std::uint64_t draw = Rng::of(seed, "where special values meet").next();
  p.meets = number;
  p.meeting = static_cast<long long>(draw % static_cast<std::uint64_t>(room - meetings + 1));
  if (!alike) p.meeting += static_cast<long long>((draw >> 20) % (p.elements / width)) * width;
}

constexpr std::array<std::string_view, 15> kind_names = {
    "ordinary", "probe",         "zeros",      "huge_element", "alternating",
    "special",  "constant_rows", "range_rows", "sparse",       "hard_line",
    "mixed",    "denormals",     "integers",   "scales",       "infinite_lines"};
constexpr std::array<std::string_view, 4> variation_names = {"none", "overlap", "scaled",
                                                             "swapped"};
static_assert(kind_names.size() == static_cast<std::size_t>(last_content) + 1);
static_assert(variation_names.size() == static_cast<std::size_t>(Variation::swapped) + 1);

}  // namespace

// Factors of whole sums stay finite: what an infinity makes of a sum near zero hangs on the sum's
// last bits, which its class does not promise. Factors of a product with a triangle do too: the
// zeros that its structure declares need not be multiplied, and an infinity times zero is none.
bool stays_finite(const Task& task, const Tensor& tensor) {
  const bool whole = !is_float_type(static_cast<int>(tensor.type));
  if (tensor.fill.values == FillValues::finite) return true;
  if (tensor.fill.values == FillValues::range && !whole) return true;
  const auto keeps_finite = [&](const Operation& operation) {
    const OperatorRow* row = find_operator(operation.kind);
    if (row == nullptr) return false;
    std::string role = tensor.name;  // a family's tensors have the names of the row
    const auto at = std::find(operation.inputs.begin(), operation.inputs.end(), tensor.name);
    const auto place = static_cast<std::size_t>(at - operation.inputs.begin());
    if (row->factors > 1 && place < static_cast<std::size_t>(row->factors) &&
        std::any_of(operation.inputs.begin(), operation.inputs.end(),
                    [&](const std::string& name) { return leaves_out(task, name); }))
      return true;
    if (!row->rule.empty()) role = place < row->inputs.size() ? row->inputs[place] : "";
    return std::find(row->finite.begin(), row->finite.end(), role) != row->finite.end();
  };
  return std::any_of(task.operations.begin(), task.operations.end(), keeps_finite);
}

bool may_be_infinite(const Task& task) {
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (is_first_float_input(task, i)) return holds_infinity(task, task.tensors[i]);
  }
  return false;
}

std::string_view name_of(ContentKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }
std::string_view name_of(Variation variation) {
  return variation_names[static_cast<std::size_t>(variation)];
}

Result<FillParams> fill_params(const Task& task, std::size_t asked, const Workload& workload,
                               const Content& content) {
  const auto source = source_of(task, asked, workload, content);
  if (!source) return source.error();
  const std::size_t index = *source;
  const Tensor& tensor = task.tensors.at(index);
  const auto shape = shape_of(task, tensor, workload);
  if (!shape) return shape.error();
  if (shape->extents.size() > static_cast<std::size_t>(max_rank)) {
    return Error{ErrorCode::usage,
                 fmt::format("task '{}', tensor '{}': more than {} dimensions", task.name,
                             tensor.name, max_rank),
                 "merge dimensions"};
  }
  const auto below = fill_limit(task, tensor, workload);
  if (!below) return below.error();
  const Fill& recipe = tensor.fill;
  FillParams p{};
  p.key = Rng::of(content.seed, tensor.name).next();
  p.type = static_cast<int>(tensor.type);
  p.kind = static_cast<int>(recipe.kind);
  p.structure = static_cast<int>(recipe.structure);
  p.content = static_cast<int>(content_of(task, tensor, content.kind));
  p.offset = recipe.low;
  p.scale =
      recipe.kind == FillKind::uniform ? recipe.high - recipe.low : recipe.high / normal_deviation;
  p.below = *below;
  p.rank = static_cast<int>(shape->extents.size());
  std::copy(shape->extents.begin(), shape->extents.end(), p.extents);
  std::copy(shape->strides.begin(), shape->strides.end(), p.strides);
  p.elements = shape->elements;
  p.span = shape->span;
  p.line = p.line_stride = 1;
  if (p.rank > 0) {
    const std::size_t dimension = line_dimension(task, tensor);
    p.line = shape->extents[dimension];
    for (std::size_t d = dimension + 1; d < shape->extents.size(); ++d)
      p.line_stride *= shape->extents[d];
  }
  p.leads = is_first_float_input(task, index) ? 1 : 0;
  const Extremes extremes = extremes_of(task.precision, tensor.type);
  p.huge = extremes.huge;
  p.swing = extremes.swing;
  p.far = tensor.type == DType::f16 && task.precision != Precision::fp16 ? far_of_halves : 0.0;
  p.spot = p.elements > 0 ? static_cast<long long>(hash_of(p.key, 0, 6) %
                                                   static_cast<unsigned long long>(p.elements))
                          : 0;
  p.swap_stride = 1;
  p.largest_integer = is_float_type(p.type) ? (1ll << integer_bits(tensor)) - 1 : 2;
  p.integer_share = std::min<std::int64_t>(65536, 65536 * 2048 / std::max<std::int64_t>(p.line, 1));
  p.unit = integer_unit(task, tensor, content.seed);
  p.wide = is_wide(task, tensor, content.seed) ? 1 : 0;
  // A seed and the next have the largest number and another.
  p.first = content.seed % 2 == 0 ? 0 : 1 + static_cast<int>(hash_of(p.key, 0, 15) >> 63);
  const bool bounded = tensor.fill.values == FillValues::range;
  if (!bounded || (content.held >= recipe.low && content.held <= recipe.high))
    p.held = content.held;
  if (p.content == content_infinite_lines)
    p.held = std::copysign(HUGE_VAL, content.seed % 2 == 0 ? -1.0 : 1.0);
  if (p.content == content_special) let_meet(p, task, tensor, workload, content.seed);
  if (auto taken = take_file(p, task, tensor); !taken) return taken.error();
  const bool scales = content.variation == Variation::scaled && p.leads != 0 &&
                      tensor.fill.values != FillValues::range;
  p.factor = scales ? scaled_by : 1.0;
  if (content.variation == Variation::swapped) {
    const std::size_t dimension = swapped_dimension(task, tensor);
    if (dimension < shape->extents.size()) p.swap_extent = shape->extents[dimension];
    for (std::size_t d = dimension + 1; d < shape->extents.size(); ++d)
      p.swap_stride *= shape->extents[d];
  }
  return p;
}

bool rounds_inputs(const Task& task) {
  const double kept = input_roundoff(task.precision);
  if (task.precision == Precision::fp32_strict || task.precision == Precision::fp64) return false;
  return std::any_of(task.tensors.begin(), task.tensors.end(), [&](const Tensor& tensor) {
    const double held = unit_roundoff(tensor.type);
    return tensor.role != Role::out && held > 0.0 && held < kept && !stays_wide(task, tensor.name);
  });
}

Result<BoundParams> bound_params(const Task& task, std::size_t index, const Workload& workload,
                                 const Content& content) {
  const Tensor& tensor = task.tensors.at(index);
  const auto length = evaluate_or_error(tensor.check.length, borrowed_scope(task, workload));
  if (!length) {
    Error error = length.error();
    return std::move(error).while_doing(
        fmt::format("task '{}', tensor '{}', check.length", task.name, tensor.name));
  }
  const double terms = static_cast<double>(std::max<std::int64_t>(*length, 1));
  const bool narrow = tensor.check.arithmetic != DType::f32;
  const double accumulate = task.precision == Precision::fp64      ? 0x1p-53
                            : task.precision == Precision::integer ? 0.0
                            : narrow ? unit_roundoff(tensor.check.arithmetic)
                                     : 0x1p-24;
  const double granted =
      rounds_inputs(task) ? input_factor(task.precision) * input_roundoff(task.precision) : 0.0;
  BoundParams p{};
  p.check = static_cast<int>(tensor.check.kind);
  p.type = static_cast<int>(tensor.type);
  const double truncated =
      truncation_slope(task.precision) * truncated_terms(task.precision, terms);
  p.per_sum = (8.0 * std::sqrt(terms) + truncated) * accumulate + granted;
  p.per_value = unit_roundoff(tensor.type);
  p.tiny = unit_roundoff(tensor.type) == 0.0 ? 0.0 : underflow_of(tensor.type);
  const bool narrowed = rounds_inputs(task);
  const bool keeps_integers = !narrowed || task.precision == Precision::fp32_emulated ||
                              task.precision == Precision::bf16x3;
  if (narrow) p.tiny = std::max(p.tiny, underflow_of(tensor.check.arithmetic));
  p.exact_below = content.kind == ContentKind::integers && keeps_integers && !narrow ? 0x1p24 : 0.0;
  p.exact_scale = 1.0;
  for (const std::string& operand : multiplied(task))
    p.exact_scale /= integer_unit(task, *find_tensor(task, operand), content.seed);
  p.splits = narrowed ? 1 : 0;
  p.relative = tensor.check.relative;
  p.absolute = tensor.check.absolute;
  return p;
}

Result<std::size_t> source_of(const Task& task, std::size_t tensor, const Workload& workload,
                              const Content& content) {
  const Tensor& asked = task.tensors.at(tensor);
  if (content.variation != Variation::overlap || asked.role != Role::in ||
      !is_float_type(static_cast<int>(asked.type))) {
    return tensor;
  }
  const auto shape = shape_of(task, asked, workload);
  if (!shape) return shape.error();
  for (std::size_t i = 0; i < tensor; ++i) {
    const Tensor& other = task.tensors[i];
    if (other.role != Role::in || other.type != asked.type ||
        other.fill.structure != asked.fill.structure || other.fill.values != asked.fill.values ||
        asked.fill.values == FillValues::range)
      continue;
    const auto numbers = shape_of(task, other, workload);
    if (!numbers) return numbers.error();
    if (numbers->extents == shape->extents && numbers->strides == shape->strides) return i;
  }
  return tensor;
}

std::size_t swapped_dimension(const Task& task, const Tensor& tensor) {
  const Axis* axis = swapped_axis(task);
  if (axis == nullptr) return tensor.shape.size();
  const auto found = std::find(tensor.shape.begin(), tensor.shape.end(), Expr(axis->name));
  return static_cast<std::size_t>(found - tensor.shape.begin());
}

bool is_counted(const Tensor& tensor) {
  const FillKind kind = tensor.fill.kind;
  if (kind == FillKind::file) {
    return tensor.type == DType::boolean ||
           (!is_float_type(static_cast<int>(tensor.type)) && tensor.fill.below.text != "0");
  }
  return kind == FillKind::integers || kind == FillKind::labels || kind == FillKind::boolean;
}

bool adds_in_fp16(const Task& task) {
  return std::any_of(task.tensors.begin(), task.tensors.end(),
                     [](const Tensor& one) { return one.check.arithmetic == DType::f16; });
}

const Axis* swapped_axis(const Task& task) {
  // The axis must be a whole dimension wherever it stands, and no structure may tie it to another.
  const auto fits = [&](const Axis& axis, const Tensor& tensor) {
    const auto named =
        std::count_if(tensor.shape.begin(), tensor.shape.end(),
                      [&](const Expr& extent) { return names_axis(extent, axis.name); });
    const auto whole = std::count(tensor.shape.begin(), tensor.shape.end(), Expr(axis.name));
    return named == whole && named <= (tensor.fill.structure == Structure::dense ? 1 : 0);
  };
  const auto found = std::find_if(task.axes.begin(), task.axes.end(), [&](const Axis& axis) {
    const bool long_enough =
        std::any_of(task.time_shapes.begin(), task.time_shapes.end(), [&](const Workload& shape) {
          const auto size = shape.sizes.find(axis.name);
          return size != shape.sizes.end() && size->second > 8;
        });
    return axis.kind == AxisKind::free && long_enough &&
           std::all_of(task.tensors.begin(), task.tensors.end(),
                       [&](const Tensor& tensor) { return fits(axis, tensor); });
  });
  return found == task.axes.end() ? nullptr : &*found;
}

std::int64_t base_offset(const Tensor& tensor, const Case& what) {
  if (!what.least_aligned || tensor.alignment >= default_alignment) return 0;
  // One tensor's base says nothing of another's: all are alike, or outputs lie apart, or each lies
  // where its name draws.
  const std::uint64_t way = what.content.seed % base_ways;
  const bool apart = way == 0   ? tensor.role == Role::out || tensor.role == Role::in_out
                     : way == 2 ? Rng::of(what.content.seed, tensor.name).below(2) != 0
                                : false;
  return apart ? 3 * std::max<std::int64_t>(tensor.alignment, 4) : tensor.alignment;
}

void fill(const FillParams& params, std::span<std::byte> memory, std::int64_t begin,
          std::int64_t count) {
  for (std::int64_t i = begin; i < begin + count; ++i) {
    store_bits(memory.data(), storage_offset(params, i), params.type, fill_bits(params, i));
  }
}

void fill(const FillParams& params, std::span<std::byte> memory) {
  fill(params, memory, 0, params.elements);
}

std::string without_includes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    if (text.substr(0, 8) != "#include") out += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string trusted_text() {
  std::string out;
  for (const char* name : {"trusted/storage.cuh", "trusted/content.cuh", "trusted/bound.cuh"}) {
    out += without_includes(find_embedded(trusted_files(), name));
  }
  return out;
}

}  // namespace cupilot
