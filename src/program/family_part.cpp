#include "program/family_part.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "program/recipe.hpp"
#include "task/operators.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

// A part of one operation in the words of a family that states the operator.
class FamilyPart {
 public:
  FamilyPart(const PartTask& graph, const Family& family, const RecipeOperator& stated)
      : graph_(graph),
        operation_(graph.task.operations.front()),
        row_(find_operator(operation_.kind)),
        family_(family),
        stated_(stated) {}

  std::optional<PartTask> run(const Families& families) {
    if (row_ == nullptr || !attributes_hold() || !find_tensors() || !find_axes())
      return std::nullopt;
    auto task = task_from_words(words(), families);
    if (!task) return std::nullopt;
    out_.name = graph_.name;
    out_.task = std::move(*task);
    if (!take_tensors() || !take_shapes()) return std::nullopt;
    out_.repeat = graph_.repeat;
    for (auto& [own, name] : out_.tensors) name = graph_.tensors.at(name);
    return std::move(out_);
  }

 private:
  bool attributes_hold() const {
    for (const auto& [name, wanted] : stated_.attributes) {
      const auto given = operation_.attributes.find(name);
      const auto fallback = row_->defaults.find(name);
      const bool stands = given != operation_.attributes.end();
      if (!stands && fallback == row_->defaults.end()) return false;
      const Attribute& is = stands ? given->second : fallback->second;
      const auto* real = std::get_if<double>(&is);
      if (real ? *real != static_cast<double>(wanted) : is != Attribute(wanted)) return false;
    }
    return true;
  }

  // The tensor that the operation has for a name of its row; "": none.
  std::string given(const std::string& name) const {
    for (std::size_t i = 0; i < row_->inputs.size(); ++i) {
      const std::string& known = row_->inputs[i];
      const bool same = known == name || known == name + "?";
      if (same) return i < operation_.inputs.size() ? operation_.inputs[i] : "";
    }
    for (std::size_t i = 0; i < row_->outputs.size(); ++i) {
      if (row_->outputs[i] == name)
        return i < operation_.outputs.size() ? operation_.outputs[i] : "";
    }
    return "";
  }

  // Each of the operation's tensors has one name in the family's words: one that stands at two
  // places is no two tensors, and another may have none.
  bool find_tensors() {
    std::set<std::string> found;
    for (const auto& [own, named] : stated_.tensors) {
      const bool optional = named.ends_with('?');
      const std::string name = given(optional ? named.substr(0, named.size() - 1) : named);
      if (name.empty() && !optional) return false;
      if (name.empty()) continue;
      if (optional) flags_.push_back(own + "=1");
      out_.tensors[own] = name;
      if (!found.insert(name).second) return false;
    }
    return found.size() == graph_.task.tensors.size();
  }

  // Coordinates of the operator's stage give the family's axes.
  bool find_axes() {
    const auto& stages = graph_.task.reference.stages;
    if (stages.empty()) return false;
    std::vector<StageAxis> all;
    for (const ReferenceStage& stage : stages) add_coordinates(stage, all);
    for (const auto& [axis, coordinates] : stated_.sizes) {
      ExprShape extents;
      std::istringstream names(coordinates);
      for (std::string name; std::getline(names, name, '*');) {
        const auto at = std::find_if(all.begin(), all.end(),
                                     [&](const StageAxis& one) { return one.name == name; });
        if (at == all.end()) continue;
        extents.push_back(at->extent);
        all.erase(at);
      }
      if (!extents.empty()) out_.axes[axis] = product_of(extents);
    }
    return std::all_of(all.begin(), all.end(),
                       [](const StageAxis& left) { return left.extent.text == "1"; });
  }

  // Adds a stage's coordinates that are not there.
  static void add_coordinates(const ReferenceStage& stage, std::vector<StageAxis>& all) {
    for (const auto* axes : {&stage.free, &stage.over}) {
      for (const StageAxis& axis : *axes) {
        const bool known = std::any_of(all.begin(), all.end(),
                                       [&](const StageAxis& one) { return one.name == axis.name; });
        if (!known) all.push_back(axis);
      }
    }
  }

  std::optional<std::int64_t> value(const Expr& expr, const Workload& workload) const {
    const auto number = evaluate_or_error(expr, task_scope(graph_.task, workload));
    return number ? std::optional(*number) : std::nullopt;
  }

  std::vector<std::string> words() const {
    std::vector<std::string> all = {family_.name};
    all.insert(all.end(), stated_.words.begin(), stated_.words.end());
    all.insert(all.end(), flags_.begin(), flags_.end());
    for (const auto& [word, name] : stated_.types) {
      const Tensor* tensor = find_tensor(graph_.task, given(name));
      if (tensor != nullptr) all.push_back(fmt::format("{}={}", word, name_of(tensor->type)));
    }
    for (const auto& [axis, extent] : out_.axes) {
      const auto size = value(extent, graph_.task.time_shapes.front());
      all.push_back(fmt::format("{}={}", axis, size ? *size : 0));
    }
    all.push_back(fmt::format("precision={}", name_of(graph_.task.precision)));
    return all;
  }

  // The made task's tensors are those of the part, with their content.
  bool take_tensors() {
    for (Tensor& tensor : out_.task.tensors) {
      const auto mapped = out_.tensors.find(tensor.name);
      if (mapped == out_.tensors.end()) return false;
      const Tensor* ours = find_tensor(graph_.task, mapped->second);
      if (ours == nullptr || ours->type != tensor.type || !ours->strides.empty()) return false;
      const auto theirs = shape_of(out_.task, tensor, out_.task.time_shapes.front());
      const auto own = shape_of(graph_.task, *ours, graph_.task.time_shapes.front());
      if (!theirs || !own || theirs->elements != own->elements) return false;
      tensor.fill = ours->fill;
      tensor.alignment = ours->alignment;
    }
    return out_.task.tensors.size() == out_.tensors.size();
  }

  bool take_shapes() {
    const Workload first = out_.task.time_shapes.front();
    for (const Axis& axis : out_.task.axes) {
      if (!out_.axes.contains(axis.name)) out_.axes[axis.name] = first.sizes.at(axis.name);
    }
    out_.task.name = graph_.name;
    out_.task.deterministic = graph_.task.deterministic;
    out_.task.time_shapes.clear();
    for (const Workload& workload : graph_.task.time_shapes) {
      Workload made{.sizes = {}, .weight = workload.weight};
      for (const auto& [axis, extent] : out_.axes) {
        const auto size = value(extent, workload);
        if (!size) return false;
        made.sizes[axis] = *size;
      }
      out_.task.time_shapes.push_back(std::move(made));
    }
    return static_cast<bool>(validate(out_.task));
  }

  const PartTask& graph_;
  const Operation& operation_;
  const OperatorRow* row_;
  const Family& family_;
  const RecipeOperator& stated_;
  std::vector<std::string> flags_;
  PartTask out_;
};

}  // namespace

std::vector<PartTask> family_forms(const PartTask& graph, const Family& family,
                                   const Families& families) {
  std::vector<PartTask> out;
  const auto text = family.texts.find("family.json");
  if (text == family.texts.end() || graph.task.operations.size() != 1) return out;
  const auto recipe = recipe_from(text->second, family.origin + "/family.json");
  if (!recipe) return out;
  for (const RecipeOperator& stated : recipe->operators) {
    if (stated.kind != graph.task.operations.front().kind) continue;
    if (auto made = FamilyPart(graph, family, stated).run(families))
      out.push_back(std::move(*made));
  }
  return out;
}

}  // namespace cupilot
