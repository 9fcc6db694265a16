// Completes a task from its operations: edges, a staged reference, work, lengths of checks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include <cupilot/task.hpp>

#include "task/axes.hpp"
#include "task/identifiers.hpp"
#include "task/nearest.hpp"
#include "task/operators.hpp"
#include "task/prepared.hpp"
#include "task/repeats.hpp"
#include "task/rules/apply.hpp"
#include "task/rules/attributes.hpp"
#include "task/rules/limits.hpp"
#include "task/rules/tidy.hpp"
#include "task/totals.hpp"

namespace cupilot {
namespace {

// Returns the operator that a mistyped word was probably meant to be, or "".
std::string_view meant_by(std::string_view kind) {
  std::vector<std::string_view> names;
  for (const OperatorRow& row : all_operators()) names.push_back(row.name);
  return close_to(kind, names);
}

// One operation's stages, written with the names of its row.
class Composer {
 public:
  // `body`: the repeat's that it belongs to, or null.
  Composer(Task& task, const Operation& operation, std::map<std::string, ExprShape>& shapes,
           KnownExtents& extents, RepeatBody* body, Equalities* equal)
      : task_(task), operation_(operation), shapes_(shapes), extents_(extents), body_(body) {
    call_.equal = equal;
  }

  Result<void> run() {
    row_ = find_operator(operation_.kind);
    if (row_ == nullptr || row_->rule.empty()) {
      const std::string_view meant = row_ == nullptr ? meant_by(operation_.kind) : "";
      return fail(row_ == nullptr ? "is no operator that is known" : "has no stages",
                  fmt::format("{}`cupilot operators` lists them; or give a reference of the task's "
                              "own",
                              meant.empty() ? "" : fmt::format("did you mean {}? ", meant)));
    }
    if (auto fits = check_operation(); !fits) return fits;
    if (auto read = inputs(); !read) return read;
    if (auto read = attributes(); !read) return read;
    if (call_.equal != nullptr) call_.equal->inputs = call_.inputs;
    auto rule = apply_rule(row_->rule, call_);
    if (!rule) return fail(rule.error().message, rule.error().hint);
    rule_ = std::move(*rule);
    keep_within(row_->rule, call_, rule_);
    if (auto fits = check_agreements(); !fits) return fits;
    if (task_.operations.size() > 1) write_alike();
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
      const bool optional =
          std::find(optional_.begin(), optional_.end(), names[i]) != optional_.end();
      if (source.empty() && optional) continue;  // left out, though later ones are not
      auto seen = see(source);
      if (!seen) return fail(seen.error().message, seen.error().hint);
      const Tensor* tensor = find_tensor(task_, seen->source);
      call_.inputs.push_back(
          {names[i], seen->shape, optional, tensor == nullptr ? Expr(0) : tensor->fill.below});
      sources_[names[i]] = std::move(*seen);
    }
    return {};
  }

  // Finds what a name of an input stands for.
  Result<SeenInput> see(const std::string& source) const {
    if (body_ != nullptr) return body_->input(source);
    const auto shape = shapes_.find(source);
    if (shape != shapes_.end()) return SeenInput{source, shape->second, "", ""};
    const bool within = std::any_of(task_.edges.begin(), task_.edges.end(), [&](const Edge& edge) {
      return edge.name == source && !edge.repeat.empty();
    });
    if (within)
      return Error{ErrorCode::usage, fmt::format("'{}' lives in a step of a repeat", source),
                   "let the body write a place of a tensor (y[t]), or carry it with `last`"};
    return Error{ErrorCode::usage,
                 fmt::format("'{}' is no tensor and no output of an earlier operation", source),
                 "list operations in the order in which they run"};
  }

  // The type of the first input; edges are as wide as the task computes.
  DType first_type() const {
    const Tensor* tensor = call_.inputs.empty()
                               ? nullptr
                               : find_tensor(task_, sources_.at(call_.inputs[0].name).source);
    if (tensor != nullptr) return tensor->type;
    return task_.precision == Precision::fp64 ? DType::f64 : DType::f32;
  }

  Result<void> attributes() {
    call_.attributes = row_->defaults;
    for (const auto& [name, value] : operation_.attributes) {
      const bool required =
          std::find(row_->required.begin(), row_->required.end(), name) != row_->required.end();
      if (!required && row_->defaults.count(name) == 0)
        return fail("has no attribute '" + name + "'", attribute_hint(*row_, name));
      const auto options = row_->options.find(name);
      const auto known = row_->defaults.find(name);
      auto fitting =
          fitted(name, value, options == row_->options.end() ? nullptr : &options->second,
                 known == row_->defaults.end() ? nullptr : &known->second);
      if (!fitting) return fail(fitting.error().message, fitting.error().hint);
      call_.attributes[name] = *fitting;
    }
    bound_defaults(call_.attributes, operation_.attributes, first_type());
    for (const std::string& name : row_->required) {
      if (call_.attributes.count(name) == 0)
        return fail("attribute '" + name + "' is missing", "it has no default");
    }
    if (auto fits = check_attributes(row_->rule, call_); !fits)
      return fail(fits.error().message, fits.error().hint);
    for (const RuleInput& input : call_.inputs) {
      const Tensor* tensor = find_tensor(task_, sources_.at(input.name).source);
      if (tensor == nullptr) continue;
      if (auto fits = check_index(row_->rule, call_, input.name, *tensor); !fits)
        return fail(fits.error().message, fits.error().hint);
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
      auto stage = body_ == nullptr ? Result<std::string>(name) : body_->stage_of(name);
      if (!stage) return fail(stage.error().message, stage.error().hint);
      const std::string& base = body_ == nullptr ? name : step_name(name).base;
      if (auto fits = check_name(base, *stage); !fits) return fits;
      ExprShape shape = rule_.output;
      const auto other = row_->shapes.find(row_->outputs[i]);
      if (other != row_->shapes.end()) shape = shape_of(other->second);
      for (const OperatorStage& stage : row_->stages) {
        if (stage.name == row_->outputs[i] && stage.reduction)
          shape = shape_of(is_unreduced() ? *stage.over : *stage.free);
      }
      names_[row_->outputs[i]] = *stage;
      const Tensor* tensor = find_tensor(task_, base);
      if (body_ != nullptr) {
        if (auto added = body_->add_output(name, shape); !added)
          return fail(added.error().message, added.error().hint);
        shape.insert(shape.begin(), body_->repeat().count);
        if (tensor == nullptr) continue;
        if (auto fits = check_shape(*tensor, shape); !fits) return fits;
        continue;
      }
      if (tensor == nullptr) task_.edges.push_back({name, shape, ""});
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
  Result<void> check_name(const std::string& name, const std::string& stage_name) const {
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
                    [&](const ReferenceStage& stage) { return stage.name == stage_name; });
    if (written) return fail(fmt::format("'{}' is written twice", name), "give it another name");
    const bool axis = std::any_of(task_.axes.begin(), task_.axes.end(),
                                  [&](const Axis& one) { return one.name == name; });
    if (axis) return fail(fmt::format("'{}' is an axis", name), "give it another name");
    return {};
  }

  // Extents that rules take for equal are, at each shape to be timed.
  Result<void> check_agreements() const {
    for (const Agreement& one : rule_.agreements) {
      if (call_.equal != nullptr) call_.equal->products.push_back({{one.is}, {one.wanted}});
      if (call_.equal != nullptr) continue;
      for (const Workload& workload : task_.time_shapes) {
        const ExprScope scope = task_scope(task_, workload);
        const auto is = evaluate_or_error(one.is, scope),
                   wanted = evaluate_or_error(one.wanted, scope);
        if (!is || !wanted || *is == *wanted) continue;  // validate() names what has no value
        return fail(fmt::format("{} {} {}, not {}", one.what, *is, one.of, *wanted),
                    "correct the shape of the tensor or the attributes of the operation");
      }
    }
    return {};
  }

  // Gives extents that say the same one text, the first one's, so that shapes compare alike.
  void write_alike() {
    for (Expr& extent : rule_.output) extent = extents_.text_of(extent);
    for (StageAxis& axis : rule_.axes) axis.extent = extents_.text_of(axis.extent);
    for (auto& [name, parts] : rule_.parts) {
      for (Expr& extent : parts) extent = extents_.text_of(extent);
    }
  }

  // The declared shape has the extents that the operation gives, at each shape to be timed.
  Result<void> check_shape(const Tensor& tensor, const ExprShape& given) const {
    for (std::size_t d = 0; call_.equal != nullptr && d < given.size(); ++d)
      call_.equal->products.push_back({{tensor.shape[d]}, {given[d]}});
    if (call_.equal != nullptr) return {};
    for (const Workload& workload : task_.time_shapes) {
      const auto declared = cupilot::shape_of(task_, tensor, workload);
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
                    fmt::format("give '{}' the shape {}, or correct the operation", tensor.name,
                                written(given)));
    }
    return {};
  }

  static std::string shown(const std::vector<std::int64_t>& extents) {
    std::string out;
    for (const std::int64_t extent : extents)
      out += (out.empty() ? "" : " x ") + std::to_string(extent);
    return out.empty() ? "of no dimension" : out;
  }

  // A shape as a task file holds it.
  static std::string written(const ExprShape& shape) {
    std::string out;
    for (const Expr& extent : shape)
      out += (out.empty() ? "[\"" : ", \"") + tidied(extent).text + "\"";
    return out + "]";
  }

  // True where a loss is asked for each of its terms.
  bool is_unreduced() const {
    const auto found = call_.attributes.find("reduction");
    return found != call_.attributes.end() && found->second == Attribute(std::string("none"));
  }

  // The rule's coordinates of a list: its groups stand for theirs.
  std::vector<std::string> coordinates(const std::vector<std::string>& list) const {
    std::vector<std::string> out;
    for (const std::string& name : list) {
      const auto group = rule_.groups.find(name);
      if (group == rule_.groups.end())
        out.push_back(name);
      else
        out.insert(out.end(), group->second.begin(), group->second.end());
    }
    return out;
  }

  // Returns the shape of coordinates or extents.
  ExprShape shape_of(const std::vector<std::string>& list) const {
    ExprShape shape;
    for (const std::string& name : coordinates(list)) {
      const auto parts = rule_.parts.find(name);
      const StageAxis* one = axis(name);
      if (parts != rule_.parts.end())
        shape.insert(shape.end(), parts->second.begin(), parts->second.end());
      else
        shape.push_back(one == nullptr ? Expr(name) : one->extent);
    }
    if (shape.empty()) shape.push_back(1);
    return shape;
  }

  void add_stages() {
    std::vector<OperatorStage> stages = row_->stages;
    if (stages.empty()) stages.push_back({.name = row_->outputs.front()});
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
    for (const std::string& name : coordinates(names ? *names : otherwise)) {
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
    if (from.reduction) {
      count_.clear();
      for (const StageAxis& one : stage.over) count_.push_back(one.extent);
      if (is_unreduced()) std::swap(stage.free, stage.over);
    }
    stage.term = from.term.empty() ? rule_.term : from.term;
    stage.combine = from.combine;
    stage.finish = from.finish;
    add_reads(stage);
    add_constants(stage);
    std::vector<std::string> at;
    for (const StageAxis& one : stage.free) at.push_back(one.name);
    if (stage.kind == StageKind::scan) at.push_back(stage.over[0].name);
    inner_.push_back({from.name, stage.name, at, {}});
    for (const std::string& name : at) inner_.back().extents.push_back(axis(name)->extent);
    if (body_ != nullptr) {
      stage.repeat = body_->repeat().name;
      stage.free.insert(stage.free.begin(), {step_coordinate, body_->repeat().count});
    }
    task_.reference.stages.push_back(std::move(stage));
  }

  bool stands_in(const ReferenceStage& stage, const std::string& name) const {
    return uses(stage.term, name) || uses(stage.finish, name);
  }

  void add_reads(ReferenceStage& stage) const {
    for (const RuleInput& input : call_.inputs) {
      if (!stands_in(stage, input.name)) continue;
      const SeenInput& seen = sources_.at(input.name);
      StageRead read{.name = input.name, .source = seen.source};
      read.step = seen.step;
      read.first = seen.first;
      const auto called = rule_.called.find(input.name);
      read.extents = called != rule_.called.end() ? called->second : input.shape;
      const auto valued = rule_.valued.find(input.name);
      if (called == rule_.called.end() && valued != rule_.valued.end()) read.at = valued->second;
      stage.reads.push_back(std::move(read));
    }
    const bool valued = rule_.called.empty();  // texts of this rule name values
    for (const Inner& earlier : inner_) {
      if (!stands_in(stage, earlier.name)) continue;
      StageRead read{earlier.name, earlier.stage, earlier.extents, {}, "", ""};
      if (body_ != nullptr) read.step = step_coordinate;
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
      const auto options = row_->options.find(name);
      if (options == row_->options.end()) continue;
      for (const std::string& option : options->second) {
        const bool chosen = value == Attribute(option);
        if (uses(all, name + "_" + option))
          stage.constants.emplace_back(name + "_" + option, chosen ? "true" : "false");
      }
    }
    for (const std::string& name : optional_) {
      const bool given = sources_.count(name) != 0;
      if (uses(all, "has_" + name))
        stage.constants.emplace_back("has_" + name, given ? "true" : "false");
      if (!given && uses(all, name)) {
        const bool called = all.find(name + "(") != std::string::npos;
        stage.constants.emplace_back(name, called ? "cupilot::Absent()" : "real(0)");
      }
    }
    stage.constants.insert(stage.constants.end(), from_rule.begin(), from_rule.end());
    for (const StageAxis& size : rule_.sizes) {
      const bool other = size.name == "count" && !count_.empty();
      const bool asked = size.name.starts_with(room_prefix);
      if ((asked || uses(all, size.name)) && !other) stage.sizes.push_back(size);
    }
    if (!count_.empty() && uses(all, "count")) stage.sizes.push_back({"count", product_of(count_)});
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
        extent = "(" + product.text + triangles() + ")";
      }
      return extent;
    });
    flops_ = text;
  }

  // A divisor of the number of terms: a lower bound of those that triangles leave, as n^3 / 6 is of
  // the product of two.
  std::string triangles() const {
    const auto one = [&](const std::string& name) {
      const Tensor* tensor = find_tensor(task_, name);
      if (tensor == nullptr || tensor->role != Role::in || tensor->shape.size() < 2) return false;
      const auto& shape = tensor->shape;
      return shape.back().text == shape[shape.size() - 2].text &&
             (tensor->fill.structure == Structure::upper ||
              tensor->fill.structure == Structure::lower);
    };
    const auto number = std::count_if(operation_.inputs.begin(), operation_.inputs.end(), one);
    return number == 0 ? "" : number == 1 ? " / 2" : " / 6";
  }

  struct Inner {
    std::string name, stage;  // in the row, in the reference
    std::vector<std::string> at;
    ExprShape extents;
  };

  Task& task_;
  const Operation& operation_;
  std::map<std::string, ExprShape>& shapes_;
  KnownExtents& extents_;
  RepeatBody* body_;
  const OperatorRow* row_ = nullptr;
  RuleCall call_;
  RuleResult rule_;
  std::vector<std::string> optional_;
  std::map<std::string, SeenInput> sources_;  // of inputs
  std::map<std::string, std::string> names_;  // stages of outputs
  std::vector<Inner> inner_;
  ExprShape count_;  // the elements that a loss sums
  std::string flops_;
};

// Composes all operations of `task` into `made`; returns their textbook operations. `equal`: gets
// what has to be equal, or null.
Result<std::string> compose(const Task& task, Task& made, Equalities* equal) {
  if (auto fits = check_repeats(task); !fits) return fits.error();
  std::map<std::string, ExprShape> shapes;
  KnownExtents extents;
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role == Role::out) continue;
    shapes[tensor.name] = tensor.shape;
    for (const Expr& extent : tensor.shape) extents.text_of(extent);
  }
  WorkSum work;
  const std::vector<bool> prepared = prepared_operations(task);
  std::optional<RepeatBody> body;
  for (std::size_t i = 0; i < task.operations.size(); ++i) {
    const Operation& operation = task.operations[i];
    const Repeat* repeat = find_repeat(task, operation.repeat);
    if (repeat != nullptr && !body) body.emplace(made, *repeat, shapes, equal);
    Composer composer(made, operation, shapes, extents, body ? &*body : nullptr, equal);
    if (auto composed = composer.run(); !composed) return composed.error();
    if (!prepared[i]) work.add(composer.flops(), repeat);
    const bool ends =
        i + 1 == task.operations.size() || task.operations[i + 1].repeat != operation.repeat;
    if (!body || !ends) continue;
    if (auto finished = body->finish(); !finished)
      return Error{ErrorCode::usage,
                   fmt::format("task '{}': {}", task.name, finished.error().message),
                   finished.error().hint};
    body.reset();
  }
  return work.total();
}

}  // namespace

Result<void> compose_equal(const Task& task, Equalities& equal) {
  Task made = task;
  if (auto composed = compose(task, made, &equal); !composed) return composed.error();
  return {};
}

Result<void> complete(Task& task) {
  if (task.operations.empty()) return {};
  const bool given = !task.reference.text.empty() || !task.reference.stages.empty();
  Task made = task;
  made.reference = {};
  made.edges.clear();
  auto flops = compose(task, made, nullptr);
  if (!flops) {
    // The task's own reference says what operations without rows do.
    if (given && task.repeats.empty()) return {};
    return flops.error();
  }
  task.edges = std::move(made.edges);
  if (given) return {};
  task.reference = std::move(made.reference);
  if (task.work.flops.text == "0") task.work.flops = *flops;
  for (Tensor& tensor : task.tensors) {
    const bool output = tensor.role == Role::out || tensor.role == Role::in_out;
    if (output && tensor.check.length.text == "1")
      tensor.check.length = length_of(task, tensor.name);
  }
  return {};
}

}  // namespace cupilot
