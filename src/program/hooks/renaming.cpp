#include "program/hooks/renaming.hpp"

#include <optional>
#include <span>

#include <fmt/format.h>

#include "kernel/plan_arguments.hpp"
#include "task/identifiers.hpp"

namespace cupilot {

Renaming::Renaming(const Task& task) : task_(task) {
  for (const Tensor& tensor : task.tensors) taken_.insert(tensor.name);
  for (const Axis& axis : task.axes) taken_.insert(axis.name);
}

void Renaming::set_constants(const Constants& constants) {
  constants_ = constants;
  for (const auto& [name, value] : constants_) names[name] = std::to_string(value);
}

Tunable Renaming::applied(const Tunable& tunable) const {
  Renaming all = *this;
  all.keep_apart(tunable);
  Tunable out = tunable;
  all.apply(out.when);
  all.apply(out.let);
  all.apply(out.restrictions);
  out.registers = all.expr(out.registers);
  all.apply(out.plan);
  if (out.model) all.apply(*out.model);
  out.text = all.text(tunable.text);
  return out;
}

void Renaming::keep_apart(const Tunable& tunable) {
  const auto apart = [&](const std::string& name) {
    if (taken_.contains(name)) names[name] = name + "_of_template";
  };
  for (const auto& [name, value] : tunable.let) apart(name);
  for (const auto& [name, value] : tunable.plan.let) apart(name);
  for (const PlanBuffer& buffer : tunable.plan.buffers) apart(buffer.name);
  for (const PlanTensorMap& map : tunable.plan.maps) apart(map.name);
  for (const PlanTexture& texture : tunable.plan.textures) apart(texture.name);
  if (!tunable.model) return;
  for (const auto& [name, value] : tunable.model->let) apart(name);
}

std::string Renaming::name(const std::string& given) const {
  const auto found = names.find(given);
  return found == names.end() ? given : found->second;
}

std::string Renaming::source(const std::string& given) const {
  const auto found = tensors.find(given);
  return found == tensors.end() ? name(given) : found->second;
}

// An expression's names are dotted.
Expr Renaming::expr(const Expr& given) const {
  return renamed_names(given.text, [&](const std::string& word) -> std::optional<std::string> {
    return word.starts_with("elem.") ? "elem." + source(word.substr(5)) : name(word);
  });
}

void Renaming::apply(std::vector<Expr>& all) const {
  for (Expr& one : all) one = expr(one);
}

void Renaming::apply(NamedExprs& all) const {
  for (auto& [own, value] : all) own = name(own), value = expr(value);
}

void Renaming::apply(LaunchPlan& plan) const {
  apply(plan.require);
  apply(plan.let);
  for (PlanBuffer& buffer : plan.buffers) {
    buffer.name = name(buffer.name);
    buffer.bytes = expr(buffer.bytes);
  }
  for (PlanTensorMap& map : plan.maps) {
    map.name = name(map.name);
    map.of = source(map.of);
    for (auto* all : {&map.dims, &map.pitch, &map.box}) apply(*all);
  }
  for (PlanTexture& texture : plan.textures) {
    texture.name = name(texture.name);
    texture.of = source(texture.of);
    apply(texture.dims);
    texture.pitch = expr(texture.pitch);
  }
  for (PlanLaunch& launch : plan.launches) {
    each_value(std::span(launch.args), [&](PlanArgument& one) {
      one.value = expr(one.value);
      if (one.kind == PlanArgument::Kind::name) one.name = source(one.name);
    });
    for (auto* all : {&launch.grid, &launch.block, &launch.cluster}) apply(*all);
    launch.shared = expr(launch.shared);
  }
}

void Renaming::apply(TunableModel& model) const {
  apply(model.let);
  for (auto& term : model.terms) {
    if (term) term = expr(*term);
  }
  for (auto& [trait, value] : model.traits) value = expr(value);
}

// Names of the template stay apart from the task's types of tensors.
std::string Renaming::text(const std::string& given) const {
  std::string out;
  for (const Tensor& tensor : task_.tensors)
    out += fmt::format("using type_{0} = T_{0};\n", tensor.name);
  out += "\nnamespace of_graph {\n";
  for (const auto& [name, value] : constants_)
    out += fmt::format("constexpr int {} = {};\n", name, value);
  for (const auto& [name, tensor] : tensors)
    out += fmt::format("using T_{} = type_{};\n", name, tensor);
  return out + given + "}  // namespace of_graph\n";
}

}  // namespace cupilot
