// Everything that can be wrong with a task, found before anything is searched.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cupilot/task.hpp>
#include <optional>
#include <set>

#include "task/repeats.hpp"
#include "trusted/content.cuh"

namespace cupilot {
namespace {

// Names a reference or kernel text could not use: words of the language and of the generated
// program.
constexpr std::array<std::string_view, 35> reserved = {
    "real",   "Inputs", "in",       "index",  "tracked", "cupilot", "min",   "max",   "cdiv",
    "up",     "pow2",   "log2",     "isqrt",  "int",     "long",    "short", "char",  "float",
    "double", "bool",   "void",     "if",     "else",    "for",     "while", "do",    "return",
    "struct", "const",  "unsigned", "signed", "static",  "auto",    "true",  "false",
};

class Checker {
 public:
  explicit Checker(const Task& task) : task_(task) {}

  Result<void> run() {
    if (task_.name.empty()) fail("name", "the task has no name", "give it one");
    names();
    outputs();
    for (std::size_t i = 0; i < task_.tensors.size(); ++i)
      tensor_rules(task_.tensors[i], at("tensors", i));
    for (std::size_t i = 0; i < task_.scalars.size(); ++i)
      scalar_rules(task_.scalars[i], at("scalars", i));
    operations();
    if (task_.time_shapes.empty())
      fail("time_shapes", "is empty", "give at least one shape to optimize");
    for (std::size_t i = 0; i < task_.time_shapes.size(); ++i)
      workload(task_.time_shapes[i], at("time_shapes", i));
    for (std::size_t i = 0; i < task_.check_shapes.size(); ++i)
      workload(task_.check_shapes[i], at("check_shapes", i));
    if (failed_) return *failed_;
    return {};
  }

 private:
  // "tensors[1]", the place in a task file and in a Task alike.
  static std::string at(const char* list, std::size_t i) { return fmt::format("{}[{}]", list, i); }

  void fail(const std::string& where, const std::string& reason, const std::string& hint) {
    if (!failed_)
      failed_ = Error{ErrorCode::usage, fmt::format("task '{}': {}: {}", task_.name, where, reason),
                      hint};
  }

  void name(std::set<std::string>& seen, const std::string& word, const char* what,
            const std::string& where) {
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    const bool shaped = !word.empty() && letter(word[0]) &&
                        std::all_of(word.begin(), word.end(),
                                    [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
    if (!shaped)
      fail(where, fmt::format("{} '{}' is not a name", what, word),
           "use letters, digits and '_', a letter first");
    if (std::find(reserved.begin(), reserved.end(), word) != reserved.end() ||
        word.substr(0, 7) == "cupilot") {
      fail(where, fmt::format("{} '{}' is a reserved word", what, word), "choose another name");
    }
    if (!seen.insert(word).second)
      fail(where, fmt::format("the name '{}' is used twice", word),
           "rename one: axes, tensors, scalars and constants share names");
  }

  void names() {
    std::set<std::string> seen;
    const auto each = [&](const auto& list, const char* key, const char* what) {
      for (std::size_t i = 0; i < list.size(); ++i)
        name(seen, list[i].name, what, at(key, i) + ".name");
    };
    each(task_.axes, "axes", "axis");
    each(task_.tensors, "tensors", "tensor");
    each(task_.scalars, "scalars", "scalar");
    for (const auto& [word, value] : task_.constants)
      name(seen, word, "constant", "constants." + word);
  }

  void outputs() {
    const bool staged = !task_.reference.stages.empty();
    if (!staged && task_.reference.text.empty())
      fail("reference", "there is none",
           "give a .cu text that defines reference_X for each output X, or operations whose rows "
           "have stages (docs/formats/operators.md)");
    bool any = false;
    for (const Tensor& tensor : task_.tensors) {
      if (tensor.role == Role::in || tensor.role == Role::constant) continue;
      any = true;
      if (staged &&
          std::none_of(task_.reference.stages.begin(), task_.reference.stages.end(),
                       [&](const ReferenceStage& stage) { return stage.name == tensor.name; }))
        fail("reference", fmt::format("no stage gives output '{}'", tensor.name),
             "let an operation or a stage give it");
      if (!staged && task_.reference.text.find("reference_" + tensor.name) == std::string::npos) {
        fail("reference",
             fmt::format("the text {} does not define reference_{}", task_.reference.file,
                         tensor.name),
             fmt::format("write `__device__ real reference_{}(const Inputs& in, long long index)`",
                         tensor.name));
      }
    }
    if (!any) fail("tensors", "none is an output", "give one tensor the role out or in_out");
  }

  void scalar_rules(const Scalar& scalar, const std::string& where) {
    if (!std::isfinite(scalar.value))
      fail(where + ".value", fmt::format("scalar '{}' is not finite", scalar.name),
           "give a finite value");
    const bool passable = scalar.type == DType::f32 || scalar.type == DType::f64 ||
                          scalar.type == DType::i32 || scalar.type == DType::i64;
    if (!passable) {
      fail(where + ".type", fmt::format("scalar '{}' is {}", scalar.name, name_of(scalar.type)),
           "use fp32, fp64, i32 or i64: these a kernel takes by value");
    }
  }

  void tensor_rules(const Tensor& tensor, const std::string& where) {
    const auto bad = [&](const char* field, const std::string& reason, const std::string& hint) {
      fail(where + field, fmt::format("tensor '{}' {}", tensor.name, reason), hint);
    };
    const std::size_t rank = tensor.shape.size();
    if (rank < 1 || rank > static_cast<std::size_t>(max_rank))
      bad(".shape", fmt::format("has {} dimensions", rank), "give 1 to 8");
    if (!tensor.strides.empty() && tensor.strides.size() != rank) {
      bad(".strides", fmt::format("has {} strides for {} dimensions", tensor.strides.size(), rank),
          "give one stride a dimension, or none");
    }
    const std::int64_t alignment = tensor.alignment;
    if (alignment < size_of(tensor.type) || alignment > 256 || (alignment & (alignment - 1)) != 0) {
      bad(".alignment", fmt::format("is aligned to {} bytes", alignment),
          "give a power of two from the element's size to 256 bytes");
    }
    if (tensor.role != Role::out) fill_rules(tensor, where);
    if (tensor.role == Role::out || tensor.role == Role::in_out) check_rules(tensor, where);
  }

  void fill_rules(const Tensor& tensor, const std::string& where) {
    const Fill& fill = tensor.fill;
    const auto bad = [&](const char* field, const std::string& reason, const std::string& hint) {
      fail(where + field, fmt::format("tensor '{}': {}", tensor.name, reason), hint);
    };
    if (fill.structure != Structure::dense && tensor.shape.size() < 2)
      bad(".fill.structure", "a structure needs two dimensions", "use structure dense");
    if (!std::isfinite(fill.low) || !std::isfinite(fill.high))
      bad(".fill", "low or high is not finite", "give finite ends");
    if (fill.kind == FillKind::uniform && fill.low > fill.high)
      bad(".fill.low", fmt::format("{} is above fill.high, {}", fill.low, fill.high),
          "exchange them");
    const bool one_value = (fill.kind == FillKind::uniform && fill.low == fill.high) ||
                           (fill.kind == FillKind::normal && fill.high == 0);
    if (one_value)
      bad(".fill.high", fmt::format("every element is {}", fill.low),
          "give a range, or kind zeros or ones");
    if (fill.kind == FillKind::normal && fill.high < 0)
      bad(".fill.high", fmt::format("the deviation is {}", fill.high), "give a positive one");
    if (fill.values == FillValues::range && fill.kind != FillKind::uniform &&
        fill.kind != FillKind::file)
      bad(".fill.values", "range needs two ends", "use kind uniform or file with low and high");
    if (fill.kind == FillKind::file) file_rules(tensor, where);
  }

  void file_rules(const Tensor& tensor, const std::string& where) {
    const FileContent& file = tensor.fill.file;
    const auto bad = [&](const char* field, const std::string& reason, const std::string& hint) {
      fail(where + field, fmt::format("tensor '{}': {}", tensor.name, reason), hint);
    };
    if (file.path.empty())
      bad(".fill.file", "kind file names no file", "give its path, from the task file's folder on");
    if (file.offset < 0) bad(".fill.offset", "is below 0", "count bytes from the file's start");
    if (file.bytes < 1 || file.bytes % size_of(tensor.type) != 0)
      bad(".fill.bytes",
          fmt::format("{} bytes are no whole number of elements of {}", file.bytes,
                      name_of(tensor.type)),
          "give the bytes of the tensor's storage at its time shape");
    const bool digest = file.sha256.size() == 64 &&
                        file.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!digest)
      bad(".fill.sha256", fmt::format("'{}' is no SHA-256", file.sha256.substr(0, 70)),
          "give the 64 hex digits of those bytes (sha256sum FILE)");
  }

  void check_rules(const Tensor& tensor, const std::string& where) {
    const Check& check = tensor.check;
    const auto bad = [&](const char* field, const std::string& reason, const std::string& hint) {
      fail(where + field, fmt::format("output '{}': {}", tensor.name, reason), hint);
    };
    if (check.kind == CheckKind::custom) custom_rules(tensor, where);
    if (check.kind == CheckKind::index_of && find_tensor(task_, check.of) == nullptr) {
      bad(".check.of", fmt::format("'{}' is no tensor", check.of),
          "name the tensor whose extreme is attained");
    }
    if (check.kind == CheckKind::index_of &&
        (check.of == tensor.name || (tensor.type != DType::i32 && tensor.type != DType::i64))) {
      bad(".check.kind", "index_of judges whole numbers that point into another tensor",
          "give the output type i32 or i64");
    }
    const bool tolerant = check.relative >= 0 && check.absolute >= 0 && check.relative < 1 &&
                          check.relative + check.absolute > 0;
    if (check.kind == CheckKind::close && !tolerant) {
      bad(".check", "close needs relative in [0, 1) and absolute >= 0, not both 0",
          "or use within, whose bound comes from the reference");
    }
  }

  void custom_rules(const Tensor& output, const std::string& where) {
    const auto bad = [&](const char* field, const char* reason, const char* hint) {
      fail(where + field, fmt::format("output '{}': {}", output.name, reason), hint);
    };
    if (!output.check.judge)
      bad(".check.kind", "custom has no judge",
          "use within, bitwise, index_of or close; a C++ program gives a judge of its own");
    if (output.check.of.empty())
      bad(".check.of", "the judge has no name",
          "name it with its version: a proof is by the judge of that name");
    if (output.role == Role::in_out)
      bad(".check.kind", "custom judges no tensor that a kernel reads, too", "use role out");
    if (task_.operations.size() > 1)
      bad(".check.kind",
          "custom judges no output of a graph, whose parts have tensors of their own",
          "say the task as one operation with a reference");
  }

  bool is_carried(const Operation& operation, const std::string& name) const {
    const Repeat* repeat = find_repeat(task_, operation.repeat);
    return repeat != nullptr && std::any_of(repeat->carried.begin(), repeat->carried.end(),
                                            [&](const Carried& one) { return one.name == name; });
  }

  void operations() {
    for (std::size_t o = 0; o < task_.operations.size(); ++o) {
      const Operation& operation = task_.operations[o];
      const auto tensors = [&](const std::vector<std::string>& words, const char* key) {
        for (std::size_t i = 0; i < words.size(); ++i) {
          const std::string name = step_name(words[i]).base;
          const bool edge = std::any_of(task_.edges.begin(), task_.edges.end(),
                                        [&](const Edge& one) { return one.name == name; });
          const bool left_out = words[i].empty() && key == std::string_view("inputs");
          if (edge || left_out || find_tensor(task_, name) != nullptr) continue;
          if (is_carried(operation, name)) continue;
          fail(fmt::format("{}.{}[{}]", at("operations", o), key, i),
               fmt::format("operation '{}' names '{}', which is no tensor", operation.name,
                           words[i]),
               "name tensors of the task");
        }
      };
      tensors(operation.inputs, "inputs");
      tensors(operation.outputs, "outputs");
    }
  }

  void workload(const Workload& shape, const std::string& where) {
    if (failed_) return;
    const std::string sizes = where + ".sizes";
    for (const Axis& axis : task_.axes) {
      const auto size = shape.sizes.find(axis.name);
      if (size == shape.sizes.end())
        fail(sizes, fmt::format("axis '{}' has no size", axis.name), "give every axis a size");
      else if (size->second < 1)
        fail(sizes + "." + axis.name, fmt::format("{} is below 1", size->second),
             "sizes are whole numbers from 1");
    }
    for (const auto& [word, size] : shape.sizes) {
      const bool known =
          std::any_of(task_.axes.begin(), task_.axes.end(),
                      [&word = word](const Axis& axis) { return axis.name == word; });
      if (!known) fail(sizes + "." + word, "is no axis", "name axes of the task");
    }
    if (!(shape.weight > 0) || !std::isfinite(shape.weight))
      fail(where + ".weight", fmt::format("{} is not positive", shape.weight),
           "give a positive weight");
    if (!failed_) numbers(shape, where);
  }

  // Checks what depends on the sizes.
  void numbers(const Workload& shape, const std::string& at_shape) {
    const ExprScope scope = task_scope(task_, shape);
    for (std::size_t i = 0; i < task_.tensors.size() && !failed_; ++i) {
      const Tensor& tensor = task_.tensors[i];
      const std::string where = at("tensors", i);
      const auto numbers = shape_of(task_, tensor, shape);
      if (!numbers) {
        std::string reason = numbers.error().message;
        if (const std::string prefix = fmt::format("task '{}', ", task_.name);
            reason.starts_with(prefix))
          reason.erase(0, prefix.size());
        return fail(where + ".shape", fmt::format("{}, at {}", reason, at_shape),
                    numbers.error().hint);
      }
      if (numbers->elements == 0)
        return fail(where + ".shape",
                    fmt::format("tensor '{}' is empty at {}", tensor.name, at_shape),
                    "every extent must be at least 1");
      const std::size_t rank = numbers->extents.size();
      if (tensor.fill.structure != Structure::dense && tensor.fill.structure != Structure::upper &&
          tensor.fill.structure != Structure::lower &&
          numbers->extents[rank - 1] != numbers->extents[rank - 2]) {
        return fail(where + ".fill.structure",
                    fmt::format("tensor '{}' is symmetric or diagonal but not square", tensor.name),
                    "make both extents equal");
      }
      const bool drawn =
          tensor.fill.kind == FillKind::integers || tensor.fill.kind == FillKind::labels;
      if (drawn && tensor.role != Role::out)
        at_least_one(scope, tensor.fill.below, where + ".fill.below");
      if (tensor.role == Role::out || tensor.role == Role::in_out)
        at_least_one(scope, tensor.check.length, where + ".check.length");
    }
    const auto flops = evaluate_or_error(task_.work.flops, scope);
    if (!flops)
      fail("work.flops", flops.error().message,
           "use sizes and constants of the task; see docs/formats/expr.md");
    if (flops && *flops < 0)
      fail("work.flops", fmt::format("is {} at {}", *flops, at_shape),
           "count the operations of the textbook, 0 for a copy");
  }

  void at_least_one(const ExprScope& scope, const Expr& text, const std::string& where) {
    const auto value = evaluate_or_error(text, scope);
    if (!value)
      return fail(where, value.error().message,
                  "use sizes and constants of the task; see docs/formats/expr.md");
    if (*value < 1) fail(where, fmt::format("is {}", *value), "it must be at least 1");
  }

  const Task& task_;
  std::optional<Error> failed_;
};

}  // namespace

Result<void> validate(const Task& task) { return Checker(task).run(); }

}  // namespace cupilot
