#include "backend/contestant/graph.hpp"

#include <cmath>
#include <cstring>

#include <cupilot/rng.hpp>

#include "base/hash.hpp"
#include "base/json.hpp"
#include "task/rules/attributes.hpp"

namespace cupilot {
namespace {

constexpr int elements_drawn = 256;

// JSON has no infinity: it goes as a word, which the contestant reads as the number.
SortedJson number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

SortedJson attribute_json(const Attribute& attribute) {
  if (const auto* real = std::get_if<double>(&attribute)) return number_json(*real);
  return std::visit([](const auto& value) { return SortedJson(value); }, attribute);
}

// The numbers of a text of expressions; -1 stays what it is.
Result<std::vector<std::int64_t>> told_numbers(const std::string& text, const ExprScope& scope) {
  std::vector<std::int64_t> out;
  for (const Expr& extent : extents_in(text)) {
    const auto value = evaluate_or_error(extent, scope);
    if (!value) return value.error();
    out.push_back(*value);
  }
  return out;
}

const char* role_name(Role role) {
  return role == Role::out ? "out" : role == Role::in_out ? "in_out" : "in";
}

}  // namespace

Result<std::string> contestant_graph(const Task& task, const Workload& workload) {
  if (task.operations.empty()) {
    return Error{ErrorCode::usage, "task " + task.name + " names no operations",
                 "a contestant computes graphs of operators (`cupilot operators`)"};
  }
  SortedJson json = {{"constants", task.constants}};
  for (const Tensor& tensor : task.tensors) {
    auto shape = shape_of(task, tensor, workload);
    if (!shape) return shape.error();
    json["tensors"].push_back({{"name", tensor.name},
                               {"role", role_name(tensor.role)},
                               {"dtype", name_of(tensor.type)},
                               {"shape", shape->extents},
                               {"strides", shape->strides}});
  }
  for (const Operation& operation : task.operations) {
    SortedJson attributes = SortedJson::object();
    for (const auto& [name, value] : operation.attributes) {
      const auto* text = std::get_if<std::string>(&value);
      if (text == nullptr || !is_told_in_text(name)) {
        attributes[name] = attribute_json(value);
        continue;
      }
      auto told = told_numbers(*text, task_scope(task, workload));
      if (!told) return told.error();
      if (name == "shape")
        attributes[name] = *told;
      else
        attributes[name] = told->empty() ? 0 : told->front();
    }
    json["operations"].push_back({{"kind", operation.kind},
                                  {"inputs", operation.inputs},
                                  {"outputs", operation.outputs},
                                  {"attributes", std::move(attributes)}});
  }
  return json.dump();
}

ContentDigest content_digest(const FillParams& recipe, std::size_t tensor, std::uint64_t seed) {
  ContentDigest digest{tensor, recipe.span, {}, {}};
  Rng rng = Rng::of(seed, "contestant's content", tensor);
  const auto bytes = static_cast<std::size_t>(storage_bytes(recipe.type));
  std::string content;
  for (int i = 0; recipe.elements > 0 && i < elements_drawn; ++i) {
    const std::int64_t element = i == 0   ? 0
                                 : i == 1 ? recipe.elements - 1
                                          : rng.below(recipe.elements);
    digest.places.push_back(storage_offset(recipe, element));
    unsigned char stored[8] = {};
    store_bits(stored, 0, recipe.type, fill_bits(recipe, element));
    content.append(reinterpret_cast<const char*>(stored), bytes);
  }
  digest.sha256 = sha256_hex(content);
  return digest;
}

}  // namespace cupilot
