#include "task/operators.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "base/embedded.hpp"
#include "task/json_reader.hpp"

namespace cupilot {
namespace {

constexpr std::string_view rows_name = "/operators.json";

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
  row.references = object.texts("references", true);
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

}  // namespace

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

const OperatorRow* find_operator(std::string_view kind) {
  static const std::vector<OperatorRow> rows = embedded_operators();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const OperatorRow& row) { return row.name == kind; });
  return found == rows.end() ? nullptr : &*found;
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
