// Everything that can be wrong with a task, found before anything is searched.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cupilot/task.hpp>
#include <optional>
#include <set>

#include "trusted/content.cuh"

namespace cupilot {
namespace {

// Names a reference or kernel text could not use: words of the language and of the generated program.
constexpr std::array<std::string_view, 34> reserved = {
    "real", "Inputs", "in",     "index", "tracked",  "cupilot", "min",    "max",  "cdiv", "up",    "pow2", "log2",
    "int",  "long",   "short",  "char",  "float",    "double",  "bool",   "void", "if",   "else",  "for",  "while",
    "do",   "return", "struct", "const", "unsigned", "signed",  "static", "auto", "true", "false",
};

class Checker {
 public:
  explicit Checker(const Task& task) : task_(task) {}

  Result<void> run() {
    if (task_.name.empty()) fail("the task has no name", "give it one");
    names();
    outputs();
    for (const Tensor& tensor : task_.tensors) tensor_rules(tensor);
    for (const Scalar& scalar : task_.scalars) {
      if (!std::isfinite(scalar.value)) fail(fmt::format("scalar '{}' is not finite", scalar.name), "give a finite value");
    }
    operations();
    if (task_.time_shapes.empty()) fail("time_shapes is empty", "give at least one shape to optimize");
    for (const Workload& shape : task_.time_shapes) workload(shape, "time_shapes");
    for (const Workload& shape : task_.check_shapes) workload(shape, "check_shapes");
    if (failed_) return *failed_;
    return {};
  }

 private:
  void fail(const std::string& reason, const std::string& hint) {
    if (!failed_) failed_ = Error{ErrorCode::usage, fmt::format("task '{}': {}", task_.name, reason), hint};
  }

  void name(std::set<std::string>& seen, const std::string& word, const char* what) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const bool shaped = !word.empty() && letter(word[0]) &&
                        std::all_of(word.begin(), word.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
    if (!shaped) fail(fmt::format("{} '{}' is not a name", what, word), "use letters, digits and '_', a letter first");
    if (std::find(reserved.begin(), reserved.end(), word) != reserved.end() || word.substr(0, 7) == "cupilot") {
      fail(fmt::format("{} '{}' is a reserved word", what, word), "choose another name");
    }
    if (!seen.insert(word).second)
      fail(fmt::format("the name '{}' is used twice", word), "axes, tensors, scalars and constants share names");
  }

  void names() {
    std::set<std::string> seen;
    for (const Axis& axis : task_.axes) name(seen, axis.name, "axis");
    for (const Tensor& tensor : task_.tensors) name(seen, tensor.name, "tensor");
    for (const Scalar& scalar : task_.scalars) name(seen, scalar.name, "scalar");
    for (const auto& [word, value] : task_.constants) name(seen, word, "constant");
  }

  void outputs() {
    if (task_.reference.text.empty()) fail("it has no reference", "give a .cu text that defines reference_X for each output X");
    bool any = false;
    for (const Tensor& tensor : task_.tensors) {
      if (tensor.role == Role::in || tensor.role == Role::constant) continue;
      any = true;
      if (task_.reference.text.find("reference_" + tensor.name) == std::string::npos) {
        fail(fmt::format("the reference {} does not define reference_{}", task_.reference.file, tensor.name),
             fmt::format("write `__device__ real reference_{}(const Inputs& in, long long index)`", tensor.name));
      }
    }
    if (!any) fail("it has no output", "give one tensor the role out or in_out");
  }

  void tensor_rules(const Tensor& tensor) {
    const auto bad = [&](const std::string& reason, const std::string& hint) {
      fail(fmt::format("tensor '{}': {}", tensor.name, reason), hint);
    };
    const std::size_t rank = tensor.shape.size();
    if (rank < 1 || rank > static_cast<std::size_t>(max_rank)) bad(fmt::format("{} dimensions", rank), "give 1 to 8");
    if (!tensor.strides.empty() && tensor.strides.size() != rank) {
      bad(fmt::format("{} strides for {} dimensions", tensor.strides.size(), rank), "give one stride a dimension, or none");
    }
    const std::int64_t alignment = tensor.alignment;
    if (alignment < size_of(tensor.type) || alignment > 256 || (alignment & (alignment - 1)) != 0) {
      bad(fmt::format("alignment is {}", alignment), "give a power of two from the element's size to 256 bytes");
    }
    if (tensor.fill.structure != Structure::dense && rank < 2) bad("structure needs two dimensions", "use structure dense");
    if (!std::isfinite(tensor.fill.low) || !std::isfinite(tensor.fill.high)) bad("fill is not finite", "give finite ends");
    if (tensor.fill.kind == FillKind::uniform && tensor.fill.low > tensor.fill.high)
      bad("fill.low is above fill.high", "exchange them");
    if (tensor.role == Role::in || tensor.role == Role::constant) return;
    const Check& check = tensor.check;
    if (check.kind == CheckKind::custom) bad("check custom has no judge", "use within, bitwise, index_of or close");
    if (check.kind == CheckKind::index_of && find_tensor(task_, check.of) == nullptr) {
      bad(fmt::format("check.of names '{}', which is no tensor", check.of), "name the tensor whose extreme is attained");
    }
    const bool tolerant = check.relative >= 0 && check.absolute >= 0 && check.relative < 1 && check.relative + check.absolute > 0;
    if (check.kind == CheckKind::close && !tolerant) {
      bad("check close needs relative in [0, 1) and absolute >= 0, not both 0",
          "or use within, whose bound comes from the reference");
    }
  }

  void operations() {
    for (const Operation& operation : task_.operations) {
      for (const auto* list : {&operation.inputs, &operation.outputs}) {
        for (const std::string& word : *list) {
          if (find_tensor(task_, word) != nullptr) continue;
          fail(fmt::format("operation '{}' names '{}', which is no tensor", operation.name, word), "name tensors of the task");
        }
      }
    }
  }

  void workload(const Workload& shape, const char* list) {
    if (failed_) return;
    for (const Axis& axis : task_.axes) {
      const auto size = shape.sizes.find(axis.name);
      if (size == shape.sizes.end())
        fail(fmt::format("{}: axis '{}' has no size", list, axis.name), "give every axis a size");
      else if (size->second < 1)
        fail(fmt::format("{}: {}={} is below 1", list, axis.name, size->second), "sizes are whole numbers from 1");
    }
    for (const auto& [word, size] : shape.sizes) {
      const bool known =
          std::any_of(task_.axes.begin(), task_.axes.end(), [&word = word](const Axis& axis) { return axis.name == word; });
      if (!known) fail(fmt::format("{}: '{}' is no axis", list, word), "name axes of the task");
    }
    if (!(shape.weight > 0) || !std::isfinite(shape.weight))
      fail(fmt::format("{}: weight {} is not positive", list, shape.weight), "give a positive weight");
    if (!failed_) numbers(shape);
  }

  // What only shows once sizes are known.
  void numbers(const Workload& shape) {
    const ExprScope scope = task_scope(task_, shape);
    for (const Tensor& tensor : task_.tensors) {
      const auto numbers = shape_of(task_, tensor, shape);
      if (!numbers) return pass_on(numbers.error());
      if (numbers->elements == 0)
        return fail(fmt::format("tensor '{}' is empty", tensor.name), "every extent must be at least 1");
      const std::size_t rank = numbers->extents.size();
      if (tensor.fill.structure != Structure::dense && tensor.fill.structure != Structure::upper &&
          tensor.fill.structure != Structure::lower && numbers->extents[rank - 1] != numbers->extents[rank - 2]) {
        return fail(fmt::format("tensor '{}' is symmetric or diagonal but not square", tensor.name), "make both extents equal");
      }
      const bool drawn = tensor.fill.kind == FillKind::integers || tensor.fill.kind == FillKind::labels;
      if (drawn && tensor.role != Role::out)
        at_least_one(scope, tensor.fill.below, fmt::format("tensor '{}', fill.below", tensor.name));
      if (tensor.role == Role::out || tensor.role == Role::in_out) {
        at_least_one(scope, tensor.check.length, fmt::format("tensor '{}', check.length", tensor.name));
      }
    }
    if (const auto flops = textbook_flops(task_, shape); !flops) pass_on(flops.error());
  }

  void at_least_one(const ExprScope& scope, const Expr& text, const std::string& what) {
    const auto value = evaluate_or_error(text, scope);
    if (!value) return fail(fmt::format("{}: {}", what, value.error().message), "correct the expression");
    if (*value < 1) fail(fmt::format("{} is {}", what, *value), "it must be at least 1");
  }

  void pass_on(const Error& error) {
    if (!failed_) failed_ = error;
  }

  const Task& task_;
  std::optional<Error> failed_;
};

}  // namespace

Result<void> validate(const Task& task) { return Checker(task).run(); }

}  // namespace cupilot
