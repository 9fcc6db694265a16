#include "task/operators.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include <fmt/ranges.h>

#include <cupilot/parts/operators.hpp>

#include "base/embedded.hpp"
#include "task/json_reader.hpp"
#include "task/nearest.hpp"
#include "task/rules/apply.hpp"
#include "task/task_json.hpp"
#include "task/task_names.hpp"

namespace cupilot {
namespace {

constexpr std::string_view rows_name = "/operators.json";

OperatorStage operator_stage_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  OperatorStage stage;
  stage.name = object.text("name", true);
  stage.kind = static_cast<StageKind>(object.choice("kind", stage_kinds, 0));
  if (object.find("free") != nullptr) stage.free = object.texts("free");
  if (object.find("over") != nullptr) stage.over = object.texts("over");
  stage.term = object.text("term", false);
  stage.combine = static_cast<Combine>(object.choice("combine", combine_names, 0));
  stage.finish = object.text("finish", false);
  stage.reduction = object.truth("reduction", false);
  if (stage.reduction && (!stage.free || !stage.over))
    object.fail("reduction", "needs `free` and `over`");
  stage.index_of = object.text("index_of", false);
  object.done();
  return stage;
}

// The words of a list of them, else none.
std::vector<std::string> words_in(const Json& value) {
  std::vector<std::string> words;
  if (!value.is_array()) return words;
  for (const Json& one : value) {
    if (!one.is_string()) return {};
    words.push_back(one.get<std::string>());
  }
  return words;
}

// Attributes with their defaults; null: an operation must give it; words: one of them, by default
// the first.
void read_attributes(JsonObject& object, OperatorRow& row) {
  const Json* attributes = object.find_object("attrs");
  if (attributes == nullptr) return;
  for (const auto& [name, value] : attributes->items()) {
    const auto attribute = attribute_from(value);
    const auto words = words_in(value);
    if (!words.empty()) {
      row.options[name] = words;
      row.defaults[name] = words.front();
    } else if (value.is_null()) {
      row.required.push_back(name);
    } else if (attribute) {
      row.defaults[name] = *attribute;
    } else {
      object.fail("attrs",
                  "'" + name + "' is no number, word, list of whole numbers or words, or null");
    }
  }
}

// Checks that a body makes each output of its row once, of inputs of the row and of what stands
// before.
void check_body(JsonObject& object, const OperatorRow& row) {
  std::set<std::string> names, known, made;
  for (const std::string& input : row.inputs) known.insert(plain_role(input));
  const auto refused = [&](const Operation& operation, const std::string& reason) {
    object.fail("operations", fmt::format("'{}': {}", operation.name, reason));
  };
  for (const Operation& operation : row.body->operations) {
    if (!names.insert(operation.name).second) refused(operation, "two operations have this name");
    for (const std::string& name : operation.inputs) {
      if (!name.empty() && !known.contains(name))
        refused(operation, fmt::format("'{}' is no input of {} and no output of an earlier "
                                       "operation",
                                       name, row.name));
    }
    for (const std::string& name : operation.outputs) {
      if (!known.insert(name).second)
        refused(operation, fmt::format("'{}' is there already", name));
      made.insert(name);
    }
    for (const auto& [name, value] : operation.attributes) {
      const auto* word = std::get_if<std::string>(&value);
      if (word == nullptr || !word->starts_with('$')) continue;
      const std::string own = word->substr(1);
      const auto& required = row.required;
      if (!row.defaults.contains(own) &&
          std::find(required.begin(), required.end(), own) == required.end())
        refused(operation, fmt::format("{} has no attribute '{}'", row.name, own));
    }
  }
  for (const std::string& output : row.outputs) {
    if (!made.contains(output))
      object.fail("operations", fmt::format("none of them makes '{}'", output),
                  "let the body give each output of its row");
  }
}

void read_body(JsonObject& object, OperatorRow& row) {
  const Json* body = object.find_object("body");
  if (body == nullptr) return;
  JsonObject of_body(object.faults(), *body, object.where("body"));
  row.body.emplace();
  row.body->when = of_body.expr("when", false, 1);
  for (const Json* item : of_body.items("operations", true)) {
    const std::string where =
        fmt::format("{}[{}]", of_body.where("operations"), row.body->operations.size());
    row.body->operations.push_back(operation_from(object.faults(), *item, where));
  }
  of_body.done();
  if (row.rule.empty()) object.fail("body", "needs a rule, whose coordinates `when` names");
  const bool any = std::any_of(row.inputs.begin(), row.inputs.end(),
                               [](const std::string& role) { return role.ends_with("..."); });
  if (any) object.fail("body", "a row of any number of inputs has none");
  check_body(of_body, row);
}

OperatorRow operator_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  OperatorRow row;
  row.name = object.text("name", true);
  row.aten = object.texts("aten");
  row.onnx = object.texts("onnx");
  row.attributes = object.texts("attributes");
  row.inputs = object.texts("inputs", true);
  row.outputs = object.texts("outputs", true);
  row.factors = static_cast<std::size_t>(object.integer("factors", false));
  row.finite = object.texts("finite");
  row.references = object.texts("references");
  row.rule = object.text("rule", row.references.empty());
  if (!row.rule.empty() && !is_rule(row.rule)) object.fail("rule", "'" + row.rule + "' is no rule");
  read_attributes(object, row);
  for (const Json* item : object.items("stages", false)) {
    row.stages.push_back(
        operator_stage_from(faults, *item, fmt::format("{}.stages[{}]", where, row.stages.size())));
  }
  if (const Json* shapes = object.find_object("shapes")) {
    JsonObject of_outputs(faults, *shapes, object.where("shapes"));
    for (const auto& [name, value] : shapes->items())
      row.shapes[name] = of_outputs.texts(name.c_str(), true);
    of_outputs.done();
  }
  read_body(object, row);
  if (const Json* work = object.find_object("work", true)) {
    JsonObject of_work(faults, *work, object.where("work"));
    row.work = {.flops = of_work.expr("flops", true),
                .matmul_like = of_work.text("matmul_like", false)};
    of_work.done();
  }
  object.done();
  if (row.factors > row.inputs.size()) object.fail("factors", "there are fewer inputs");
  return row;
}

std::vector<OperatorRow> embedded_operators() {
  std::vector<OperatorRow> all;
  for (const EmbeddedFile& file : kernel_files()) {
    if (!file.name.starts_with("reference/") || !file.name.ends_with(rows_name)) continue;
    const std::string_view path = file.name.substr(10);
    auto rows = operators_from(file.text, "kernels/" + std::string(file.name),
                               std::string(path.substr(0, path.size() - rows_name.size())));
    assert(rows && "the built-in operators do not parse");
    if (rows) all.insert(all.end(), rows->begin(), rows->end());
  }
  return all;
}

std::string default_text(const Attribute& value) {
  return std::visit([](const auto& one) { return Json(one).dump(); }, value);
}

OperatorInfo info_of(const OperatorRow& row) {
  OperatorInfo info{.name = row.name, .group = row.group, .rule = row.rule};
  info.inputs = row.inputs;
  info.outputs = row.outputs;
  info.aten = row.aten;
  info.onnx = row.onnx;
  info.flops = row.work.flops.text;
  for (const std::string& name : row.required) info.attributes.emplace_back(name, "");
  for (const auto& [name, value] : row.defaults) {
    const auto words = row.options.find(name);
    info.attributes.emplace_back(name, words == row.options.end()
                                           ? default_text(value)
                                           : fmt::format("{}", fmt::join(words->second, "|")));
  }
  return info;
}

}  // namespace

std::vector<OperatorInfo> operators() {
  std::vector<OperatorInfo> out;
  for (const OperatorRow& row : all_operators()) out.push_back(info_of(row));
  return out;
}

Result<std::vector<OperatorRow>> operators_from(std::string_view json, const std::string& origin,
                                                const std::string& group) {
  const auto whole = read_json_object(json, origin);
  if (!whole) return whole.error();
  JsonFaults faults(origin, "docs/formats/operators.md");
  JsonObject object(faults, *whole, "");
  if (object.integer("cupilot_operators", true, 1) != 1)
    object.fail("cupilot_operators", "is of another version", "write 1");
  std::vector<OperatorRow> rows;
  for (const Json* item : object.items("operators", true)) {
    rows.push_back(operator_from(faults, *item, fmt::format("operators[{}]", rows.size())));
    rows.back().group = group;
  }
  object.done();
  if (faults.first()) return *faults.first();
  return rows;
}

std::string plain_role(const std::string& role) {
  return role.ends_with('?') ? role.substr(0, role.size() - 1) : role;
}

const std::vector<OperatorRow>& all_operators() {
  static const std::vector<OperatorRow> rows = embedded_operators();
  return rows;
}

const OperatorRow* find_operator(std::string_view kind) {
  const auto& rows = all_operators();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const OperatorRow& row) { return row.name == kind; });
  return found == rows.end() ? nullptr : &*found;
}

std::string attribute_hint(const OperatorRow& row, std::string_view name) {
  std::vector<std::string_view> known(row.required.begin(), row.required.end());
  for (const auto& [one, value] : row.defaults) known.push_back(one);
  if (known.empty()) return row.name + " takes none";
  const std::string_view meant = close_to(name, known);
  return fmt::format("{}{} takes {}", meant.empty() ? "" : fmt::format("did you mean {}? ", meant),
                     row.name, listed(known));
}

std::string_view operator_reference(std::string_view path) {
  return find_embedded(kernel_files(), "reference/" + std::string(path));
}

bool is_matmul_like(const Task& task) {
  return !task.work.matmul_like.empty() ||
         std::any_of(task.operations.begin(), task.operations.end(), [](const Operation& one) {
           const OperatorRow* row = find_operator(one.kind);
           return row != nullptr && !row->work.matmul_like.empty();
         });
}

}  // namespace cupilot
