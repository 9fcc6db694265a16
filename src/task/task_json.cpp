// Task files: docs/formats/task.md.
#include <fmt/format.h>

#include <algorithm>
#include <cupilot/task.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "task/axes.hpp"
#include "task/file_content.hpp"
#include "task/json_reader.hpp"
#include "task/task_json.hpp"
#include "task/task_names.hpp"

namespace cupilot {
namespace {

// 1: one operation, a text as reference. 2: a graph of operations, or stages.
constexpr std::int64_t first_version = 1, version = 2;
// A task file or reference beyond this is a mistake.
constexpr std::uintmax_t largest_file = 4u << 20;

DType dtype_of(JsonObject& object, const char* key, DType otherwise) {
  if (object.find(key) == nullptr) return otherwise;
  const std::string word = object.text(key, true);
  if (const auto type = dtype_from(word)) return *type;
  std::string known;
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i)
    known += (i > 0 ? ", " : "") + std::string(name_of(static_cast<DType>(i)));
  object.faults().fail(object.where(key), fmt::format("'{}' is no known type", word.substr(0, 60)),
                       "one of " + known);
  return otherwise;
}

Axis axis_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  Axis axis;
  axis.name = object.text("name", true);
  axis.kind = static_cast<AxisKind>(object.choice("kind", axis_kinds, 0));
  object.done();
  return axis;
}

FileContent file_from(JsonObject& object) {
  FileContent file;
  file.path = object.text("file", true);
  file.offset = object.integer("offset", false, 0);
  file.bytes = object.integer("bytes", true);
  file.sha256 = object.text("sha256", true);
  return file;
}

Fill fill_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  Fill fill;
  fill.kind = static_cast<FillKind>(object.choice("kind", fill_kinds, 0));
  fill.low = object.number("low", fill.low);
  fill.high = object.number("high", fill.high);
  fill.below = object.expr("below", false, fill.below);
  fill.structure = static_cast<Structure>(object.choice("structure", structures, 0));
  fill.values = static_cast<FillValues>(object.choice("values", fill_values, 0));
  if (fill.kind == FillKind::file) fill.file = file_from(object);
  object.done();
  return fill;
}

Check check_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  Check check;
  check.kind = static_cast<CheckKind>(object.choice("kind", check_kinds, 0));
  check.length = object.expr("length", false, check.length);
  check.of = object.text("of", check.kind == CheckKind::index_of);
  check.relative = object.number("relative", 0);
  check.absolute = object.number("absolute", 0);
  check.arithmetic = dtype_of(object, "arithmetic", DType::f32);
  if (unit_roundoff(check.arithmetic) < unit_roundoff(DType::f32))
    faults.fail(object.where("arithmetic"), "arithmetic is neither fp32 nor a narrower type",
                "one of fp32, fp16, bf16");
  object.done();
  return check;
}

Tensor tensor_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  Tensor tensor;
  tensor.name = object.text("name", true);
  tensor.role = static_cast<Role>(object.choice("role", roles, 0));
  tensor.type = dtype_of(object, "type", DType::f32);
  tensor.shape = object.exprs("shape", true);
  tensor.strides = object.exprs("strides", false);
  tensor.alignment = object.integer("alignment", false, tensor.alignment);
  if (const Json* fill = object.find("fill"))
    tensor.fill = fill_from(faults, *fill, object.where("fill"));
  if (const Json* check = object.find("check"))
    tensor.check = check_from(faults, *check, object.where("check"));
  object.done();
  return tensor;
}

Scalar scalar_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  Scalar scalar;
  scalar.name = object.text("name", true);
  scalar.type = dtype_of(object, "type", DType::f32);
  scalar.value = object.number("value", 0);
  object.done();
  return scalar;
}

Carried carried_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  Carried carried{.name = object.text("name", true), .from = object.text("from", true)};
  carried.next = object.text("next", true);
  carried.last = object.text("last", false);
  object.done();
  return carried;
}

// An operation, or a repeat with its body, whose operations stand in the task's list.
void add_operation(JsonFaults& faults, const Json& json, const std::string& where, Task& task) {
  if (!json.is_object() || !json.contains("repeat")) {
    task.operations.push_back(operation_from(faults, json, where));
    return;
  }
  JsonObject object(faults, json, where);
  Repeat repeat{.name = object.text("name", true)};
  if (const Json* loop = object.find_object("repeat")) {
    JsonObject of_loop(faults, *loop, object.where("repeat"));
    repeat.count = of_loop.expr("count", true);
    repeat.step = of_loop.text("step", false, repeat.step);
    for (const Json* item : of_loop.items("carried", false))
      repeat.carried.push_back(carried_from(
          faults, *item, fmt::format("{}[{}]", of_loop.where("carried"), repeat.carried.size())));
    std::size_t number = 0;
    for (const Json* item : of_loop.items("body", true)) {
      const std::string place = fmt::format("{}[{}]", of_loop.where("body"), number++);
      if (item->is_object() && item->contains("repeat")) {
        faults.fail(place, "is a repeat within a repeat",
                    "only one loop deep: unroll the inner one, or say it as one operator");
        continue;
      }
      task.operations.push_back(operation_from(faults, *item, place));
      task.operations.back().repeat = repeat.name;
    }
    of_loop.done();
  }
  object.done();
  task.repeats.push_back(std::move(repeat));
}

std::vector<StageAxis> stage_axes(JsonObject& object, const char* key) {
  std::vector<StageAxis> axes;
  if (const Json* json = object.find_object(key)) {
    JsonObject extents(object.faults(), *json, object.where(key));
    for (const auto& [name, value] : json->items())
      axes.push_back({name, extents.expr(name.c_str(), true)});
    extents.done();
  }
  return axes;
}

// Coordinates, sizes and constants as `order` lists them: files whose keys were sorted have lost
// their order, which says where an element lies.
void put_in_order(ReferenceStage& stage, const std::vector<std::string>& order) {
  const auto place = [&](const std::string& name) {
    return std::find(order.begin(), order.end(), name) - order.begin();
  };
  for (std::vector<StageAxis>* axes : {&stage.free, &stage.over, &stage.sizes}) {
    std::stable_sort(axes->begin(), axes->end(), [&](const StageAxis& a, const StageAxis& b) {
      return place(a.name) < place(b.name);
    });
  }
  std::stable_sort(stage.constants.begin(), stage.constants.end(),
                   [&](const auto& a, const auto& b) { return place(a.first) < place(b.first); });
}

ReferenceStage stage_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  ReferenceStage stage;
  stage.name = object.text("name", true);
  stage.kind = static_cast<StageKind>(object.choice("kind", stage_kinds, 0));
  stage.free = stage_axes(object, "free");
  stage.over = stage_axes(object, "over");
  stage.sizes = stage_axes(object, "sizes");
  for (const Json* item : object.items("reads", false)) {
    JsonObject of_read(faults, *item, fmt::format("{}.reads[{}]", where, stage.reads.size()));
    StageRead read{.name = of_read.text("name", true)};
    read.source = of_read.text("of", false, read.name);
    read.extents = of_read.exprs("extents", true);
    read.at = of_read.texts("at");
    read.step = of_read.text("step", false);
    read.first = of_read.text("first", false);
    of_read.done();
    stage.reads.push_back(std::move(read));
  }
  if (const Json* constants = object.find_object("constants")) {
    JsonObject of_constants(faults, *constants, object.where("constants"));
    for (const auto& [name, value] : constants->items())
      stage.constants.emplace_back(name, of_constants.text(name.c_str(), true));
    of_constants.done();
  }
  stage.term = object.text("term", true);
  stage.combine = static_cast<Combine>(object.choice("combine", combine_names, 0));
  stage.finish = object.text("finish", false);
  stage.repeat = object.text("repeat", false);
  put_in_order(stage, object.texts("order"));
  object.done();
  return stage;
}

std::map<std::string, std::int64_t> integers_from(JsonFaults& faults, const Json& json,
                                                  const std::string& where) {
  JsonObject object(faults, json, where);
  std::map<std::string, std::int64_t> out;
  if (!json.is_object()) return out;
  for (const auto& [key, value] : json.items()) out[key] = object.integer(key.c_str(), true);
  return out;
}

Workload workload_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  Workload workload;
  if (const Json* sizes = object.find("sizes", true))
    workload.sizes = integers_from(faults, *sizes, object.where("sizes"));
  workload.weight = object.number("weight", 1.0);
  object.done();
  return workload;
}

Work work_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  Work work{.flops = object.expr("flops", true), .matmul_like = object.text("matmul_like", false)};
  object.done();
  return work;
}

template <class T>
std::vector<T> list_of(JsonObject& object, const char* key, bool needed,
                       T (*read)(JsonFaults&, const Json&, const std::string&)) {
  std::vector<T> out;
  for (const Json* item : object.items(key, needed)) {
    out.push_back(
        read(object.faults(), *item, fmt::format("{}[{}]", object.where(key), out.size())));
  }
  return out;
}

Precision precision_of(JsonObject& object) {
  const std::string word = object.text("precision", true);
  if (object.find("precision") == nullptr) return Precision::fp32_strict;
  if (const auto precision = precision_from(word)) return *precision;
  object.faults().fail(object.where("precision"),
                       fmt::format("'{}' is no known class", word.substr(0, 60)),
                       "one of fp64, fp32-strict, fp32-emulated, bf16x3, tf32, fp16, bf16, "
                       "fp8-promoted, fp8, integer");
  return Precision::fp32_strict;
}

// Everything but the text of the reference; `reference` gets its file name.
Task task_from(JsonObject& object, std::string& reference) {
  const std::int64_t written = object.integer("cupilot_task", true, version);
  if (written < first_version || written > version) {
    object.faults().fail(
        "cupilot_task", "is of another version",
        fmt::format("write {} or {}: this program reads no other", first_version, version));
  }
  Task task;
  task.name = object.text("name", true);
  task.family = object.text("family", false, task.name);
  task.axes = list_of(object, "axes", false, axis_from);
  task.tensors = list_of(object, "tensors", true, tensor_from);
  task.scalars = list_of(object, "scalars", false, scalar_from);
  std::size_t number = 0;
  for (const Json* item : object.items("operations", false))
    add_operation(object.faults(), *item, fmt::format("operations[{}]", number++), task);
  if (const Json* constants = object.find("constants"))
    task.constants = integers_from(object.faults(), *constants, "constants");
  task.precision = precision_of(object);
  task.deterministic = object.truth("deterministic", task.deterministic);
  // Axes and their sizes are made of the numbers in a graph's shapes.
  const bool numbered = object.find("axes") == nullptr && written > first_version;
  task.time_shapes = list_of(object, "time_shapes", !numbered, workload_from);
  if (numbered && task.time_shapes.empty()) task.time_shapes.emplace_back();
  task.check_shapes = list_of(object, "check_shapes", false, workload_from);
  reference = object.text("reference", false);
  task.reference.text = object.text("reference_text", false);
  task.reference.stages = list_of(object, "reference_stages", false, stage_from);
  const int given = (reference.empty() ? 0 : 1) + (task.reference.text.empty() ? 0 : 1) +
                    (task.reference.stages.empty() ? 0 : 1);
  const bool composed = written > first_version && given == 0 && !task.operations.empty();
  if (!composed) object.find("axes", true);
  if (const Json* work = object.find("work", !composed))
    task.work = work_from(object.faults(), *work, "work");
  if (given > 1 || (given == 0 && !composed)) {
    object.faults().fail(
        "reference", given == 0 ? "is missing" : "stands beside reference_text or reference_stages",
        "name the .cu file beside the task file in `reference`, or hold its text "
        "in `reference_text`, or its stages in `reference_stages`; version 2 makes "
        "one of `operations`");
  }
  return task;
}

Result<std::string> read_file(const std::filesystem::path& path, const std::string& what) {
  const auto failed = [&](const std::string& reason) {
    return Error{ErrorCode::usage, fmt::format("{} {}: {}", what, path.string(), reason),
                 "check the path and its permissions"};
  };
  std::error_code code;
  if (!std::filesystem::exists(path, code)) return failed("no such file");
  if (!std::filesystem::is_regular_file(path, code)) return failed("not a file");
  if (std::filesystem::file_size(path, code) > largest_file || code)
    return failed("larger than 4 MiB");
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) return failed("cannot be read, or is empty");
  return text.str();
}

}  // namespace

std::string_view name_of(Structure structure) {
  return structures[static_cast<std::size_t>(structure)];
}

Operation operation_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  const bool first = json.is_object() && json.contains("kind");
  Operation operation{.name = object.text("name", true),
                      .kind = object.text(first ? "kind" : "op", true)};
  operation.inputs = object.texts(first ? "inputs" : "in");
  operation.outputs = object.texts(first ? "outputs" : "out");
  if (const Json* attributes = first ? nullptr : object.find_object("attrs")) {
    for (const auto& [name, value] : attributes->items()) {
      if (const auto attribute = attribute_from(value))
        operation.attributes[name] = *attribute;
      else
        object.fail("attrs", "'" + name + "' is no number, word or list of whole numbers");
    }
  }
  object.done();
  return operation;
}

std::optional<Attribute> attribute_from(const Json& json) {
  if (json.is_boolean()) return Attribute(std::int64_t{json.get<bool>() ? 1 : 0});
  if (json.is_number_integer()) return Attribute(json.get<std::int64_t>());
  if (json.is_number_float()) return Attribute(json.get<double>());
  if (json.is_string()) return Attribute(json.get<std::string>());
  if (!json.is_array()) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Json& item : json) {
    if (!item.is_number_integer()) return std::nullopt;
    values.push_back(item.get<std::int64_t>());
  }
  return Attribute(std::move(values));
}

Result<Task> read_task(const Json& json, const std::string& origin, std::string& reference) {
  JsonFaults faults(origin, "docs/formats/task.md");
  JsonObject object(faults, json, "");
  Task task = task_from(object, reference);
  object.done();
  if (faults.first()) return *faults.first();
  return task;
}

namespace {

// `folder`: where a `reference` file is looked for; empty: none may be named.
Result<Task> parse_task(std::string_view text, const std::string& origin,
                        const std::filesystem::path* folder) {
  const auto json = read_json_object(text, origin);
  if (!json) return json.error();
  std::string reference;
  auto read = read_task(*json, origin, reference);
  if (!read) return read.error();
  Task task = std::move(*read);
  JsonFaults faults(origin, "docs/formats/task.md");
  if (!task.reference.text.empty()) task.reference.file = "reference_text";
  if (!reference.empty()) {
    if (folder == nullptr)
      faults.fail("reference", "names a file, but this text has no place",
                  "hold it in `reference_text`");
    if (folder == nullptr) return *faults.first();
    auto content = read_file(*folder / reference, fmt::format("{}: reference", origin));
    if (!content) return content.error();
    task.reference.text = std::move(*content);
    task.reference.file = reference;
  }
  for (Tensor& tensor : task.tensors) {
    std::string& path = tensor.fill.file.path;
    if (folder != nullptr && !path.empty())
      path = std::filesystem::absolute(*folder / path).lexically_normal().string();
  }
  std::optional<Task> bare = json->contains("axes") ? std::nullopt : std::optional(task);
  if (auto completed = complete(task); !completed)
    return std::move(completed.error()).while_doing(origin);
  if (auto valid = validate(task); !valid) return std::move(valid.error()).while_doing(origin);
  if (bare && give_axes(*bare, task)) task = std::move(*bare);
  // A text without a place, such as a journal's, is read where the files may be gone.
  if (folder == nullptr) return task;
  if (auto fits = check_files(task); !fits) return std::move(fits.error()).while_doing(origin);
  return task;
}

Json expr_json(const Expr& expr) { return expr.text; }

Json exprs_json(const std::vector<Expr>& exprs) {
  Json out = Json::array();
  for (const Expr& expr : exprs) out.push_back(expr_json(expr));
  return out;
}

Json tensor_json(const Tensor& tensor) {
  Json out = {{"name", tensor.name},
              {"role", roles[static_cast<std::size_t>(tensor.role)]},
              {"type", name_of(tensor.type)}};
  out["shape"] = exprs_json(tensor.shape);
  if (!tensor.strides.empty()) out["strides"] = exprs_json(tensor.strides);
  if (tensor.alignment != Tensor().alignment) out["alignment"] = tensor.alignment;
  if (tensor.role != Role::out) {
    out["fill"] = {{"kind", fill_kinds[static_cast<std::size_t>(tensor.fill.kind)]},
                   {"low", tensor.fill.low},
                   {"high", tensor.fill.high},
                   {"below", expr_json(tensor.fill.below)},
                   {"structure", name_of(tensor.fill.structure)}};
    if (tensor.fill.values != FillValues::any)
      out["fill"]["values"] = fill_values[static_cast<std::size_t>(tensor.fill.values)];
    if (const FileContent& file = tensor.fill.file; tensor.fill.kind == FillKind::file)
      out["fill"].update({{"file", file.path},
                          {"offset", file.offset},
                          {"bytes", file.bytes},
                          {"sha256", file.sha256}});
  }
  if (tensor.role == Role::out || tensor.role == Role::in_out) {
    out["check"] = {{"kind", check_kinds[static_cast<std::size_t>(tensor.check.kind)]},
                    {"length", expr_json(tensor.check.length)},
                    {"of", tensor.check.of},
                    {"relative", tensor.check.relative},
                    {"absolute", tensor.check.absolute}};
    if (tensor.check.arithmetic != DType::f32)
      out["check"]["arithmetic"] = name_of(tensor.check.arithmetic);
  }
  return out;
}

Json stage_axes_json(const std::vector<StageAxis>& axes) {
  Json out = Json::object();
  for (const StageAxis& axis : axes) out[axis.name] = expr_json(axis.extent);
  return out;
}

// Names of coordinates, sizes and constants in order; empty where it is that of sorted keys.
std::vector<std::string> order_of(const ReferenceStage& stage) {
  std::vector<std::string> all;
  bool sorted = true;
  const auto add = [&](const std::vector<std::string>& names) {
    sorted = sorted && std::is_sorted(names.begin(), names.end());
    all.insert(all.end(), names.begin(), names.end());
  };
  for (const std::vector<StageAxis>* axes : {&stage.free, &stage.over, &stage.sizes}) {
    std::vector<std::string> names;
    for (const StageAxis& axis : *axes) names.push_back(axis.name);
    add(names);
  }
  std::vector<std::string> names;
  for (const auto& [name, text] : stage.constants) names.push_back(name);
  add(names);
  return sorted ? std::vector<std::string>() : all;
}

Json stage_json(const ReferenceStage& stage) {
  Json out = {{"name", stage.name}, {"kind", stage_kinds[static_cast<std::size_t>(stage.kind)]}};
  out["free"] = stage_axes_json(stage.free);
  if (!stage.over.empty()) out["over"] = stage_axes_json(stage.over);
  if (!stage.sizes.empty()) out["sizes"] = stage_axes_json(stage.sizes);
  out["reads"] = Json::array();
  for (const StageRead& read : stage.reads) {
    Json one = {{"name", read.name}};
    if (read.source != read.name) one["of"] = read.source;
    one["extents"] = exprs_json(read.extents);
    if (!read.at.empty()) one["at"] = read.at;
    if (!read.step.empty()) one["step"] = read.step;
    if (!read.first.empty()) one["first"] = read.first;
    out["reads"].push_back(std::move(one));
  }
  for (const auto& [name, text] : stage.constants) out["constants"][name] = text;
  out["term"] = stage.term;
  if (stage.kind != StageKind::map)
    out["combine"] = combine_names[static_cast<std::size_t>(stage.combine)];
  if (!stage.finish.empty()) out["finish"] = stage.finish;
  if (!stage.repeat.empty()) out["repeat"] = stage.repeat;
  if (const auto order = order_of(stage); !order.empty()) out["order"] = order;
  return out;
}

Json operation_json(const Operation& operation, bool first) {
  Json out = {{"name", operation.name}};
  out[first ? "kind" : "op"] = operation.kind;
  out[first ? "inputs" : "in"] = operation.inputs;
  out[first ? "outputs" : "out"] = operation.outputs;
  for (const auto& [name, value] : operation.attributes)
    std::visit([&, &name = name](const auto& one) { out["attrs"][name] = one; }, value);
  return out;
}

Json repeat_json(const Repeat& repeat) {
  Json loop = {{"count", expr_json(repeat.count)}, {"step", repeat.step}};
  loop["carried"] = Json::array();
  for (const Carried& one : repeat.carried) {
    loop["carried"].push_back({{"name", one.name}, {"from", one.from}, {"next", one.next}});
    if (!one.last.empty()) loop["carried"].back()["last"] = one.last;
  }
  loop["body"] = Json::array();
  return {{"name", repeat.name}, {"repeat", std::move(loop)}};
}

// The operations in order; those of a body within their repeat.
Json operations_json(const Task& task, bool first) {
  Json out = Json::array();
  std::string current;
  for (const Operation& operation : task.operations) {
    const auto repeat =
        std::find_if(task.repeats.begin(), task.repeats.end(),
                     [&](const Repeat& one) { return one.name == operation.repeat; });
    if (operation.repeat != current && repeat != task.repeats.end())
      out.push_back(repeat_json(*repeat));
    current = operation.repeat;
    Json& list = repeat == task.repeats.end() ? out : out.back()["repeat"]["body"];
    list.push_back(operation_json(operation, first));
  }
  return out;
}

Json workloads_json(const std::vector<Workload>& workloads) {
  Json out = Json::array();
  for (const Workload& workload : workloads)
    out.push_back({{"sizes", workload.sizes}, {"weight", workload.weight}});
  return out;
}

Json task_json(const Task& task) {
  // Version 1 says all of a task with a text and no attributes; older programs read it.
  const bool first = task.reference.stages.empty() && task.repeats.empty() &&
                     std::all_of(task.operations.begin(), task.operations.end(),
                                 [](const Operation& one) { return one.attributes.empty(); });
  Json out = {{"cupilot_task", first ? first_version : version},
              {"name", task.name},
              {"family", task.family}};
  for (const char* list : {"axes", "tensors", "scalars"}) out[list] = Json::array();
  for (const Axis& axis : task.axes) {
    out["axes"].push_back(
        {{"name", axis.name}, {"kind", axis_kinds[static_cast<std::size_t>(axis.kind)]}});
  }
  for (const Tensor& tensor : task.tensors) out["tensors"].push_back(tensor_json(tensor));
  for (const Scalar& scalar : task.scalars) {
    out["scalars"].push_back(
        {{"name", scalar.name}, {"type", name_of(scalar.type)}, {"value", scalar.value}});
  }
  out["operations"] = operations_json(task, first);
  out["constants"] = task.constants;
  out["precision"] = name_of(task.precision);
  if (task.deterministic) out["deterministic"] = true;
  out["time_shapes"] = workloads_json(task.time_shapes);
  out["check_shapes"] = workloads_json(task.check_shapes);
  out["work"] = {{"flops", expr_json(task.work.flops)}, {"matmul_like", task.work.matmul_like}};
  if (!task.reference.text.empty()) out["reference_text"] = task.reference.text;
  for (const ReferenceStage& stage : task.reference.stages)
    out["reference_stages"].push_back(stage_json(stage));
  return out;
}

}  // namespace

Result<Task> load_task(const std::string& path) {
  const auto text = read_file(path, "task file");
  if (!text) return text.error();
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return parse_task(*text, path, &folder);
}

Result<Task> task_from_json(std::string_view json, const std::string& origin) {
  return parse_task(json, origin, nullptr);
}

Result<std::string> task_to_json(const Task& task) {
  if (auto valid = validate(task); !valid) return valid.error();
  try {
    return task_json(task).dump(2) + "\n";
  } catch (const std::exception& error) {
    return Error{ErrorCode::usage,
                 fmt::format("task '{}' cannot be written as JSON: {}", task.name, error.what()),
                 "texts must be UTF-8"};
  }
}

}  // namespace cupilot
