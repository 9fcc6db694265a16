#include "kernel/tunable_check.hpp"

#include <algorithm>
#include <span>

#include <fmt/core.h>

#include "kernel/expr_names.hpp"
#include "kernel/plan_arguments.hpp"
#include "kernel/plan_scope.hpp"
#include "kernel/tunable_values.hpp"
#include "task/json_reader.hpp"
#include "task/nearest.hpp"

namespace cupilot {
namespace {

const std::vector<std::string_view> device_words = {
    "dev.sms",    "dev.shared",    "dev.threads", "dev.registers",  "dev.l2",
    "dev.blocks", "dev.shared_sm", "dev.cc",      "dev.bytes.dram", "dev.bytes.l2"};

class TunableCheck {
 public:
  TunableCheck(const Tunable& tunable, const Task& task, const DeviceSpec& device)
      : tunable_(tunable),
        task_(task),
        device_(device),
        faults_(tunable.file, "docs/formats/tunable.md") {}

  Result<void> run() {
    family();
    parameters();
    for (std::size_t i = 0; i < tunable_.when.size(); ++i)
      when(tunable_.when[i], fmt::format("when[{}]", i));
    each(tunable_.restrictions, "restrict", setting_names_);
    names(tunable_.registers, "registers", setting_names_);
    lets();
    plan();
    model();
    if (faults_.first()) return *faults_.first();
    return {};
  }

 private:
  using Names = std::vector<std::string>;

  void family() {
    if (tunable_.family == task_.family) return;
    faults_.fail("family",
                 fmt::format("it serves '{}', the task '{}' is of family '{}'", tunable_.family,
                             task_.name, task_.family),
                 fmt::format("write \"{}\", or set the task's family", task_.family));
  }

  void parameters() {
    const std::set<std::string> used = names_in(tunable_.text);
    std::set<std::string> launched;
    for (const PlanLaunch& launch : tunable_.plan.launches) {
      const std::set<std::string> entry = names_in(launch.entry);
      launched.insert(entry.begin(), entry.end());
    }
    const bool includes =
        tunable_.text.find("#include") != std::string::npos;  // a device header may read it
    for (const TunableParameter& parameter : tunable_.parameters) {
      const std::string where = "parameters." + parameter.constant;
      if (task_.constants.contains(parameter.constant)) {
        faults_.fail(where, fmt::format("task '{}' has a constant of that name", task_.name),
                     "rename the parameter");
      }
      const auto axis = std::find_if(task_.axes.begin(), task_.axes.end(),
                                     [&](const Axis& a) { return a.name == parameter.constant; });
      if (axis != task_.axes.end()) {
        faults_.fail(where, fmt::format("task '{}' has an axis of that name", task_.name),
                     "rename the parameter");
      }
      if (!includes && !used.contains(parameter.constant) &&
          !launched.contains(parameter.constant)) {
        faults_.fail(where, "the kernel's text never reads it, so its values would make one kernel",
                     "use it in the text, or remove it");
      }
    }
  }

  // Names that expressions see, from the narrowest scope to the widest.
  Names of_task() const {
    Names all;
    for (const auto& [name, value] : task_.constants) all.push_back(name);
    for (const Tensor& tensor : task_.tensors) all.push_back("elem." + tensor.name);
    return all;
  }
  Names of_setting() const {
    Names all = of_task();
    for (const TunableParameter& parameter : tunable_.parameters) all.push_back(parameter.constant);
    return all;
  }
  Names of_plan() const {
    Names all = of_setting();
    for (const Axis& axis : task_.axes) all.push_back(axis.name);
    for (const auto& [name, value] : tunable_.plan.let) all.push_back(name);
    for (const auto& [name, value] : tunable_.let) {
      if (!contains(all, name)) all.push_back(name);
    }
    for (const PlanLaunch& launch : tunable_.plan.launches) {
      all.push_back("resident." + launch.name);
      all.push_back(launch.name + ".ctas");
    }
    return all;
  }

  Names of_model() const {
    Names all = of_plan();
    all.push_back("model.resident");
    if (!tunable_.model) return all;
    for (const auto& [name, value] : tunable_.model->let) all.push_back(name);
    for (const auto& [name, value] : tunable_.model->weights) all.push_back("weight." + name);
    return all;
  }

  static bool contains(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  const Expr* header_let(const std::string& name) const {
    for (const auto& [defined, expr] : tunable_.let) {
      if (defined == name) return &expr;
    }
    return nullptr;
  }

  // "line 12: ", of a key that stands in the header.
  std::string line(const std::string& path) const {
    const auto found = tunable_.lines.find(path);
    return found == tunable_.lines.end() ? std::string() : fmt::format("line {}: ", found->second);
  }

  bool answered(const std::string& name) const {
    if (name.starts_with("dev."))
      return std::holds_alternative<std::int64_t>(device_name(device_, name));
    return name.starts_with("class.") &&
           std::holds_alternative<std::int64_t>(task_class_scope(task_)(name));
  }

  void names(const Expr& expr, const std::string& where, const Names& known) {
    for (const std::string& name : names_in(expr.text, false)) {
      if (contains(known, name) || answered(name)) continue;
      // A definition is as wide as what it reads.
      if (const Expr* let = header_let(name)) {
        this->names(*let, where, known);
        continue;
      }
      const std::vector<std::string_view> words =
          name.starts_with("dev.") ? device_words
                                   : std::vector<std::string_view>(known.begin(), known.end());
      const bool size = !contains(known, name) && &known != &plan_names_ &&
                        std::any_of(task_.axes.begin(), task_.axes.end(),
                                    [&](const Axis& axis) { return axis.name == name; });
      faults_.fail(
          where,
          fmt::format(
              "{}'{}' in \"{}\" {}", line(where), name, expr.text,
              size ? "is a size, and a setting must hold for every size" : "is no known name"),
          size ? "put the condition into plan.require"
               : fmt::format("nearest: {}; known: {}", nearest(name, words), listed(words)));
    }
  }

  void each(const std::vector<Expr>& exprs, const std::string& where, const Names& known) {
    for (std::size_t i = 0; i < exprs.size(); ++i)
      names(exprs[i], fmt::format("{}[{}]", where, i), known);
  }

  void when(const Expr& expr, const std::string& where) {
    names(expr, where, task_names_);
    const ExprValue value = evaluate(expr, task_class_scope(task_));
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number != nullptr && *number == 0) {
      faults_.fail(where, fmt::format("\"{}\" does not hold for task '{}'", expr.text, task_.name),
                   "give a tunable made for such a task, or lift the condition");
    }
  }

  bool is_argument(const std::string& word) const {
    const auto called = [&](const auto& list) {
      return std::any_of(list.begin(), list.end(),
                         [&](const auto& one) { return one.name == word; });
    };
    return called(task_.tensors) || called(task_.scalars) || called(tunable_.plan.buffers) ||
           called(tunable_.plan.maps) || called(tunable_.plan.textures);
  }

  void plan() {
    const LaunchPlan& plan = tunable_.plan;
    each(plan.require, "plan.require", plan_names_);
    for (const auto& [name, expr] : plan.let) let(name, expr);
    for (std::size_t i = 0; i < plan.buffers.size(); ++i)
      names(plan.buffers[i].bytes, fmt::format("plan.buffers[{}].bytes", i), plan_names_);
    for (std::size_t i = 0; i < plan.maps.size(); ++i)
      map(plan.maps[i], fmt::format("plan.maps[{}]", i));
    for (std::size_t i = 0; i < plan.textures.size(); ++i)
      texture(plan.textures[i], fmt::format("plan.textures[{}]", i));
    for (std::size_t i = 0; i < plan.launches.size(); ++i)
      launch(plan.launches[i], fmt::format("plan.launches[{}]", i));
  }

  void lets() {
    for (const auto& [name, expr] : tunable_.let) {
      const std::string where = "let." + name;
      names(expr, where, plan_names_);
      if (outside(name)) hides(where);
    }
  }

  // Names of the task and of parameters.
  bool outside(const std::string& name) const {
    return contains(setting_names_, name) ||
           std::any_of(task_.axes.begin(), task_.axes.end(),
                       [&](const Axis& axis) { return axis.name == name; });
  }
  void hides(const std::string& where) {
    faults_.fail(where, line(where) + "hides a size or a constant", "choose another name");
  }

  void model() {
    if (!tunable_.model) return;
    const Names known = of_model();
    for (const auto& [name, expr] : tunable_.model->let) {
      names(expr, "model.let." + name, known);
      if (outside(name)) hides("model.let." + name);
    }
    for (std::size_t i = 0; i < model_term_count; ++i) {
      if (const auto& term = tunable_.model->terms[i])
        names(*term, fmt::format("model.{}", name_of(static_cast<ModelTerm>(i))), known);
    }
    for (const auto& [name, expr] : tunable_.model->traits)
      names(expr, "model.traits." + name, known);
  }

  void let(const std::string& name, const Expr& expr) {
    const std::string where = "plan.let." + name;
    names(expr, where, plan_names_);
    const bool hides = std::count(plan_names_.begin(), plan_names_.end(), name) > 1;
    if (hides) faults_.fail(where, "hides a size or a constant", "choose another name");
  }

  void map(const PlanTensorMap& map, const std::string& where) {
    each(map.dims, where + ".dims", plan_names_);
    each(map.pitch, where + ".pitch", plan_names_);
    each(map.box, where + ".box", plan_names_);
    if (!is_argument(map.of))
      faults_.fail(where + ".of", fmt::format("'{}' is no tensor or buffer", map.of),
                   "name what the map reads");
  }

  void texture(const PlanTexture& texture, const std::string& where) {
    each(texture.dims, where + ".dims", plan_names_);
    names(texture.pitch, where + ".pitch", plan_names_);
    if (!is_argument(texture.of))
      faults_.fail(where + ".of", fmt::format("'{}' is no tensor or buffer", texture.of),
                   "name what the texture reads");
  }

  void launch(const PlanLaunch& launch, const std::string& where) {
    const std::string kernel = launch.entry.substr(0, launch.entry.find('<'));
    if (kernel.find("::") == std::string::npos && !names_in(tunable_.text).contains(kernel)) {
      faults_.fail(where + ".entry", fmt::format("the text defines no '{}'", kernel),
                   "name a __global__ function below the header");
    }
    each(launch.grid, where + ".grid", plan_names_);
    each(launch.block, where + ".block", plan_names_);
    each(launch.cluster, where + ".cluster", plan_names_);
    names(launch.shared, where + ".shared", plan_names_);
    for (std::size_t i = 0; i < launch.args.size(); ++i) {
      const std::string place = fmt::format("{}.args[{}]", where, i);
      each_value(std::span(&launch.args[i], 1),
                 [&](const PlanArgument& one) { argument(one, place); });
    }
  }

  void argument(const PlanArgument& argument, const std::string& place) {
    if (argument.kind != PlanArgument::Kind::name) {
      names(argument.value, place, plan_names_);
    } else if (!argument.name.ends_with('?') && !is_argument(argument.name)) {
      faults_.fail(place,
                   fmt::format("'{}' is no tensor, scalar, buffer, map or texture", argument.name),
                   std::count(plan_names_.begin(), plan_names_.end(), argument.name) > 0
                       ? fmt::format("pass a number as {{\"i32\": \"{}\"}}", argument.name)
                       : "name one of the task or the plan");
    }
  }

  const Tunable& tunable_;
  const Task& task_;
  const DeviceSpec& device_;
  JsonFaults faults_;
  const Names task_names_ = of_task(), setting_names_ = of_setting(), plan_names_ = of_plan();
};

}  // namespace

Result<void> check_tunable(const Tunable& tunable, const Task& task, const DeviceSpec& device) {
  return TunableCheck(tunable, task, device).run();
}

}  // namespace cupilot
