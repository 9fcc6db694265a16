// Completes a task from its operations: edges, a staged reference, work, lengths of checks.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include <cupilot/task.hpp>

#include "task/identifiers.hpp"
#include "task/operators.hpp"
#include "task/shape_rules.hpp"

namespace cupilot {
namespace {

std::string literal(const Attribute& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}ll", *number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("real({:a})", *number);
  return "";
}

// One operation's stages, written with the names of its row.
class Composer {
 public:
  Composer(Task& task, const Operation& operation, std::map<std::string, ExprShape>& shapes)
      : task_(task), operation_(operation), shapes_(shapes) {}

  Result<void> run() {
    row_ = find_operator(operation_.kind);
    if (row_ == nullptr || row_->rule.empty()) {
      return fail(row_ == nullptr ? "is no operator that is known" : "has no stages",
                  "`cupilot operators` lists them; or give a reference of the task's own");
    }
    if (auto fits = check_operation(); !fits) return fits;
    if (auto read = inputs(); !read) return read;
    if (auto read = attributes(); !read) return read;
    auto rule = apply_rule(row_->rule, call_);
    if (!rule) return fail(rule.error().message, rule.error().hint);
    rule_ = std::move(*rule);
    if (auto named = outputs(); !named) return named;
    add_stages();
    add_work();
    return {};
  }

  const std::string& flops() const { return flops_; }

 private:
  Error fail(const std::string& reason, const std::string& hint) const {
    return {ErrorCode::usage,
            fmt::format("task '{}': operation '{}' ({}): {}", task_.name, operation_.name,
                        operation_.kind, reason),
            hint};
  }

  // Its name begins those of its inner stages.
  Result<void> check_operation() const {
    const bool shaped =
        !operation_.name.empty() &&
        std::isdigit(static_cast<unsigned char>(operation_.name[0])) == 0 &&
        std::all_of(operation_.name.begin(), operation_.name.end(), is_identifier_character);
    if (!shaped) return fail("its name is none", "use letters, digits and '_'");
    const auto same =
        std::count_if(task_.operations.begin(), task_.operations.end(),
                      [&](const Operation& one) { return one.name == operation_.name; });
    if (same > 1) return fail("two operations have this name", "rename one");
    return {};
  }

  // Names of the row, "bias?" may be absent, "x..." stands for any number of them.
  Result<void> inputs() {
    std::vector<std::string> names;
    for (const std::string& name : row_->inputs) {
      if (name.ends_with("...")) {
        while (names.size() < operation_.inputs.size())
          names.push_back(name.substr(0, name.size() - 3) + std::to_string(names.size()));
      } else if (name.ends_with('?')) {
        optional_.push_back(name.substr(0, name.size() - 1));
        names.push_back(optional_.back());
      } else {
        names.push_back(name);
        if (names.size() > operation_.inputs.size())
          return fail("input " + name + " is missing", "name a tensor or an edge for it");
      }
    }
    if (operation_.inputs.size() > names.size())
      return fail(fmt::format("takes {} inputs, not {}", names.size(), operation_.inputs.size()),
                  "docs/formats/operators.md lists them");
    for (std::size_t i = 0; i < operation_.inputs.size(); ++i) {
      const std::string& source = operation_.inputs[i];
      const auto shape = shapes_.find(source);
      if (shape == shapes_.end())
        return fail(fmt::format("'{}' is no tensor and no output of an earlier operation", source),
                    "list operations in the order in which they run");
      call_.inputs.push_back({names[i], shape->second});
      sources_[names[i]] = source;
    }
    return {};
  }

  Result<void> attributes() {
    call_.attributes = row_->defaults;
    for (const auto& [name, value] : operation_.attributes) {
      const bool required =
          std::find(row_->required.begin(), row_->required.end(), name) != row_->required.end();
      if (!required && row_->defaults.count(name) == 0)
        return fail("has no attribute '" + name + "'", "docs/formats/operators.md lists them");
      call_.attributes[name] = value;
    }
    for (const std::string& name : row_->required) {
      if (call_.attributes.count(name) == 0)
        return fail("attribute '" + name + "' is missing", "it has no default");
    }
    return {};
  }

  const StageAxis* axis(const std::string& name) const {
    const auto found = std::find_if(rule_.axes.begin(), rule_.axes.end(),
                                    [&](const StageAxis& one) { return one.name == name; });
    return found == rule_.axes.end() ? nullptr : &*found;
  }

  Result<void> outputs() {
    if (operation_.outputs.empty() || operation_.outputs.size() > row_->outputs.size())
      return fail(fmt::format("gives {} outputs", row_->outputs.size()), "name one for each");
    for (std::size_t i = 0; i < operation_.outputs.size(); ++i) {
      const std::string& name = operation_.outputs[i];
      if (auto fits = check_name(name); !fits) return fits;
      ExprShape shape = rule_.output;
      const auto other = row_->shapes.find(row_->outputs[i]);
      if (other != row_->shapes.end()) {
        shape.clear();
        for (const std::string& coordinate : other->second) {
          const StageAxis* one = axis(coordinate);
          shape.push_back(one == nullptr ? Expr(coordinate) : one->extent);
        }
        if (shape.empty()) shape.push_back(1);
      }
      names_[row_->outputs[i]] = name;
      const Tensor* tensor = find_tensor(task_, name);
      if (tensor == nullptr) task_.edges.push_back({name, shape});
      if (tensor != nullptr) {
        if (auto fits = check_shape(*tensor, shape); !fits) return fits;
      }
      // A tensor's own text of its shape goes on, so that extents compare alike.
      shapes_[name] =
          tensor == nullptr || tensor->shape.size() != shape.size() ? shape : tensor->shape;
    }
    return {};
  }

  // A new name that C++ takes, of an edge or of a tensor that is written once.
  Result<void> check_name(const std::string& name) const {
    const bool shaped = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                        std::all_of(name.begin(), name.end(), is_identifier_character);
    if (!shaped)
      return fail(fmt::format("'{}' is not a name", name), "use letters, digits and '_'");
    const Tensor* tensor = find_tensor(task_, name);
    if (tensor != nullptr && (tensor->role == Role::in || tensor->role == Role::constant))
      return fail(fmt::format("writes the input '{}'", name),
                  "give it the role in_out, or another name");
    const bool written =
        std::any_of(task_.reference.stages.begin(), task_.reference.stages.end(),
                    [&](const ReferenceStage& stage) { return stage.name == name; });
    if (written) return fail(fmt::format("'{}' is written twice", name), "give it another name");
    const bool axis = std::any_of(task_.axes.begin(), task_.axes.end(),
                                  [&](const Axis& one) { return one.name == name; });
    if (axis) return fail(fmt::format("'{}' is an axis", name), "give it another name");
    return {};
  }

  // The declared shape has the extents that the operation gives, at each shape to be timed.
  Result<void> check_shape(const Tensor& tensor, const ExprShape& given) const {
    for (const Workload& workload : task_.time_shapes) {
      const auto declared = shape_of(task_, tensor, workload);
      if (!declared) continue;  // validate() names it
      std::vector<std::int64_t> extents;
      for (const Expr& extent : given) {
        const auto value = evaluate_or_error(extent, task_scope(task_, workload));
        if (!value)
          return fail(fmt::format("the shape of '{}': {}", tensor.name, value.error().message),
                      value.error().hint);
        extents.push_back(*value);
      }
      if (extents != declared->extents)
        return fail(fmt::format("gives '{}' the shape {}, but the tensor is {}", tensor.name,
                                shown(extents), shown(declared->extents)),
                    "correct the tensor's shape or the operation");
    }
    return {};
  }

  static std::string shown(const std::vector<std::int64_t>& extents) {
    std::string out;
    for (const std::int64_t extent : extents)
      out += (out.empty() ? "" : " x ") + std::to_string(extent);
    return out;
  }

  void add_stages() {
    std::vector<OperatorStage> stages = row_->stages;
    if (stages.empty()) stages.push_back({.name = row_->outputs.front(), .term = rule_.term});
    for (const OperatorStage& stage : stages) {
      const bool output =
          std::find(row_->outputs.begin(), row_->outputs.end(), stage.name) != row_->outputs.end();
      if (output && names_.count(stage.name) == 0) continue;  // nobody wants it
      add_stage(stage);
    }
  }

  std::vector<StageAxis> axes_of(const std::optional<std::vector<std::string>>& names,
                                 const std::vector<std::string>& otherwise) const {
    std::vector<StageAxis> out;
    for (const std::string& name : names ? *names : otherwise) {
      if (const StageAxis* one = axis(name)) out.push_back(*one);
    }
    return out;
  }

  void add_stage(const OperatorStage& from) {
    ReferenceStage stage;
    const auto output = names_.find(from.name);
    stage.name = output != names_.end() ? output->second : operation_.name + "_" + from.name;
    stage.kind = from.kind;
    stage.free = axes_of(from.free, from.kind == StageKind::map ? rule_.whole : rule_.free);
    if (from.kind != StageKind::map) stage.over = axes_of(from.over, rule_.over);
    stage.term = from.term;
    stage.combine = from.combine;
    stage.finish = from.finish;
    add_reads(stage);
    add_constants(stage);
    std::vector<std::string> at;
    for (const StageAxis& one : stage.free) at.push_back(one.name);
    if (stage.kind == StageKind::scan) at.push_back(stage.over[0].name);
    inner_.push_back({from.name, stage.name, at, {}});
    for (const std::string& name : at) inner_.back().extents.push_back(axis(name)->extent);
    task_.reference.stages.push_back(std::move(stage));
  }

  bool stands_in(const ReferenceStage& stage, const std::string& name) const {
    return uses(stage.term, name) || uses(stage.finish, name);
  }

  void add_reads(ReferenceStage& stage) const {
    for (const RuleInput& input : call_.inputs) {
      if (!stands_in(stage, input.name)) continue;
      StageRead read{.name = input.name, .source = sources_.at(input.name)};
      const auto called = rule_.called.find(input.name);
      read.extents = called != rule_.called.end() ? called->second : input.shape;
      const auto valued = rule_.valued.find(input.name);
      if (called == rule_.called.end() && valued != rule_.valued.end()) read.at = valued->second;
      stage.reads.push_back(std::move(read));
    }
    const bool valued = rule_.called.empty();  // texts of this rule name values
    for (const Inner& earlier : inner_) {
      if (!stands_in(stage, earlier.name)) continue;
      StageRead read{earlier.name, earlier.stage, earlier.extents, {}};
      if (valued) read.at = earlier.at;
      if (read.extents.empty()) read.extents = {1}, read.at = {"0"};
      stage.reads.push_back(std::move(read));
    }
  }

  void add_constants(ReferenceStage& stage) const {
    std::string all = stage.term + " " + stage.finish;
    for (const StageRead& read : stage.reads)
      for (const std::string& at : read.at) all += " " + at;
    std::vector<std::pair<std::string, std::string>> from_rule;
    for (auto one = rule_.constants.rbegin(); one != rule_.constants.rend(); ++one) {
      if (!uses(all, one->first)) continue;
      from_rule.insert(from_rule.begin(), *one);
      all += " " + one->second;
    }
    for (const auto& [name, value] : call_.attributes) {
      const std::string text = literal(value);
      if (!text.empty() && uses(all, name)) stage.constants.emplace_back(name, text);
    }
    for (const std::string& name : optional_) {
      const bool given = sources_.count(name) != 0;
      if (uses(all, "has_" + name))
        stage.constants.emplace_back("has_" + name, given ? "true" : "false");
      if (!given && uses(all, name)) {
        const bool called = all.find(name + "(") != std::string::npos;
        stage.constants.emplace_back(name, called ? "[](auto...) { return real(0); }" : "real(0)");
      }
    }
    stage.constants.insert(stage.constants.end(), from_rule.begin(), from_rule.end());
    for (const StageAxis& size : rule_.sizes) {
      if (uses(all, size.name)) stage.sizes.push_back(size);
    }
  }

  // The row's work in extents of coordinates.
  void add_work() {
    const std::string text = renamed(row_->work.flops.text, [&](const std::string& word) {
      const StageAxis* one = axis(word);
      std::optional<std::string> extent;
      if (one != nullptr) extent = "(" + one->extent.text + ")";
      for (const StageAxis& size : rule_.sizes) {
        if (size.name == word) extent = "(" + size.extent.text + ")";
      }
      if (word == "output") extent = "(" + product_of(rule_.output).text + ")";
      if (word == "input") extent = "(" + product_of(call_.inputs[0].shape).text + ")";
      if (word == "terms") {
        Expr product = 1;
        for (const StageAxis& any : rule_.axes) product = product_of({product, any.extent});
        extent = "(" + product.text + ")";
      }
      return extent;
    });
    flops_ = text;
  }

  struct Inner {
    std::string name, stage;  // in the row, in the reference
    std::vector<std::string> at;
    ExprShape extents;
  };

  Task& task_;
  const Operation& operation_;
  std::map<std::string, ExprShape>& shapes_;
  const OperatorRow* row_ = nullptr;
  RuleCall call_;
  RuleResult rule_;
  std::vector<std::string> optional_;
  std::map<std::string, std::string> sources_, names_;  // of inputs, of outputs
  std::vector<Inner> inner_;
  std::string flops_;
};

// The longest of all sums an output is made of.
Expr length_of(const Task& task, const std::string& output) {
  std::vector<std::string> wanted = {output}, lengths;
  for (auto stage = task.reference.stages.rbegin(); stage != task.reference.stages.rend();
       ++stage) {
    if (std::find(wanted.begin(), wanted.end(), stage->name) == wanted.end()) continue;
    for (const StageRead& read : stage->reads) wanted.push_back(read.source);
    if (stage->over.empty() || stage->combine > Combine::prod) continue;
    ExprShape over;
    for (const StageAxis& axis : stage->over) over.push_back(axis.extent);
    const std::string length = product_of(over).text;
    if (std::find(lengths.begin(), lengths.end(), length) == lengths.end())
      lengths.push_back(length);
  }
  std::string most;
  for (const std::string& length : lengths)
    most = most.empty() ? length : fmt::format("max({}, {})", most, length);
  return most.empty() ? Expr(1) : Expr(most);
}

}  // namespace

Result<void> complete(Task& task) {
  if (task.operations.empty()) return {};
  const bool given = !task.reference.text.empty() || !task.reference.stages.empty();
  Task made = task;
  made.reference = {};
  made.edges.clear();
  std::map<std::string, ExprShape> shapes;
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role != Role::out) shapes[tensor.name] = tensor.shape;
  }
  std::string flops;
  for (const Operation& operation : task.operations) {
    Composer composer(made, operation, shapes);
    if (auto composed = composer.run(); !composed) {
      // The task's own reference says what operations without rows do.
      if (given) return {};
      return composed;
    }
    flops += (flops.empty() ? "" : " + ") + composer.flops();
  }
  task.edges = std::move(made.edges);
  if (given) return {};
  task.reference = std::move(made.reference);
  if (task.work.flops.text == "0") task.work.flops = flops;
  for (Tensor& tensor : task.tensors) {
    const bool output = tensor.role == Role::out || tensor.role == Role::in_out;
    if (output && tensor.check.length.text == "1")
      tensor.check.length = length_of(task, tensor.name);
  }
  return {};
}

}  // namespace cupilot
