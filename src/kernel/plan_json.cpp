// Launch-plan JSON, both ways (docs/formats/launch-plan.md).
#include "kernel/plan_json.hpp"

#include <fmt/core.h>

#include <cupilot/kernel_source.hpp>

#include "base/hash.hpp"

namespace cupilot {
namespace {

constexpr std::size_t list_limit = 64;  // buffers, maps, launches, arguments of one plan
constexpr std::string_view content_names[] = {"scratch", "zeroed", "restored", "table"};

BufferContent content_from(ObjectReader& reader) {
  const std::string word = reader.text("content", false, "scratch");
  for (std::size_t i = 0; i < std::size(content_names); ++i) {
    if (word == content_names[i]) return static_cast<BufferContent>(i);
  }
  reader.fail("content", fmt::format("unknown content \"{}\"", word), "one of scratch, zeroed, restored, table");
  return BufferContent::scratch;
}

std::string name_from(ObjectReader& reader) {
  const std::string name = reader.text("name", true);
  if (!reader.fault() && !is_identifier(name)) {
    reader.fail("name", fmt::format("\"{}\" is no identifier", name), "letters, digits and '_', at most 64, no digit first");
  }
  return name;
}

PlanBuffer buffer_from(ObjectReader& reader) {
  PlanBuffer buffer;
  buffer.name = name_from(reader);
  buffer.bytes = reader.expr("bytes", true);
  buffer.content = content_from(reader);
  return buffer;
}

PlanTensorMap map_from(ObjectReader& reader) {
  PlanTensorMap map;
  map.name = name_from(reader);
  map.of = reader.text("of", true);
  const std::string type = reader.text("type", true);
  if (const auto known = dtype_from(type)) {
    map.type = *known;
  } else {
    reader.fail("type", fmt::format("unknown type \"{}\"", type), "such as bf16, fp16, fp32, i32, u8");
  }
  map.dims = reader.exprs("dims", true, 1, 5);
  map.pitch = reader.exprs("pitch", false, 0, 4);
  map.box = reader.exprs("box", true, 1, 5);
  map.swizzle = static_cast<int>(reader.integer("swizzle", false, 128));
  if (!reader.fault() && map.pitch.size() + 1 != map.dims.size()) {
    reader.fail("pitch", fmt::format("{} dims want {} pitches, got {}", map.dims.size(), map.dims.size() - 1, map.pitch.size()));
  }
  if (!reader.fault() && map.box.size() != map.dims.size()) {
    reader.fail("box", fmt::format("{} dims want a box of as many sides, got {}", map.dims.size(), map.box.size()));
  }
  if (!reader.fault() && map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128) {
    reader.fail("swizzle", fmt::format("{} is no swizzle", map.swizzle), "one of 0, 32, 64, 128");
  }
  return map;
}

PlanArgument argument_from(ObjectReader& launch, const Json& json, const std::string& key) {
  PlanArgument argument;
  if (json.is_string()) {
    argument.name = json.get<std::string>();
    std::string_view bare = argument.name;
    if (bare.ends_with('?')) bare.remove_suffix(1);
    if (!is_identifier(bare))
      launch.fail(key, fmt::format("\"{}\" is no name of a tensor, scalar, buffer or map", argument.name));
    return argument;
  }
  ObjectReader reader(json, launch.place(key), {"i32", "i64"});
  const bool narrow = json.is_object() && json.contains("i32");
  if (!reader.fault() && json.size() != 1) launch.fail(key, "want exactly one of i32, i64", "{\"i32\": \"m\"}");
  argument.kind = narrow ? PlanArgument::Kind::i32 : PlanArgument::Kind::i64;
  if (!launch.fault()) argument.value = reader.expr(narrow ? "i32" : "i64", true);
  if (reader.fault() && !launch.fault()) launch.adopt(*reader.fault());
  return argument;
}

PlanLaunch launch_from(ObjectReader& reader) {
  PlanLaunch launch;
  launch.entry = reader.text("entry", true);
  if (!reader.fault() && (launch.entry.empty() || launch.entry.size() > 256)) reader.fail("entry", "want 1 to 256 bytes");
  launch.name = reader.text("name", false, launch.entry);
  const std::string when = reader.text("when", false, "run");
  if (when != "run" && when != "setup") reader.fail("when", fmt::format("unknown time \"{}\"", when), "run or setup");
  launch.when = when == "setup" ? When::setup : When::run;
  launch.grid = reader.exprs("grid", true, 1, 3);
  launch.block = reader.exprs("block", true, 1, 3);
  launch.cluster = reader.exprs("cluster", false, 1, 3);
  launch.shared = reader.expr("shared", false);
  launch.cooperative = reader.boolean("cooperative", false);
  const Json* args = reader.find_array("args", true);
  if (args && args->size() > list_limit) reader.fail("args", fmt::format("more than {}", list_limit));
  for (std::size_t i = 0; args && !reader.fault() && i < args->size(); ++i) {
    launch.args.push_back(argument_from(reader, (*args)[i], fmt::format("args[{}]", i)));
  }
  return launch;
}

// Reads an array of objects, each by `one`.
template <class T, class One>
std::vector<T> list_from(ObjectReader& plan, const char* key, bool needed, std::initializer_list<const char*> known, One one) {
  std::vector<T> all;
  const Json* list = plan.find_array(key, needed);
  if (list && list->size() > list_limit) plan.fail(key, fmt::format("more than {}", list_limit));
  for (std::size_t i = 0; list && !plan.fault() && i < list->size(); ++i) {
    ObjectReader reader((*list)[i], plan.place(fmt::format("{}[{}]", key, i)), known);
    if (!reader.fault()) all.push_back(one(reader));
    if (reader.fault()) plan.adopt(*reader.fault());
  }
  return all;
}

void check_names(ObjectReader& plan, const LaunchPlan& read) {
  std::set<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!names.insert(name).second) plan.fail(name, "two buffers or maps have this name", "rename one");
  };
  for (const PlanBuffer& buffer : read.buffers) add(buffer.name);
  for (const PlanTensorMap& map : read.maps) add(map.name);
  std::set<std::string> launches;
  for (const PlanLaunch& launch : read.launches) {
    if (!launches.insert(launch.name).second)
      plan.fail("launches", fmt::format("two are called \"{}\"", launch.name), "give each a name");
  }
}

Json expr_to(const Expr& expr) {
  if (!expr.text.empty() && expr.text.size() < 18 && expr.text.find_first_not_of("0123456789") == std::string::npos &&
      (expr.text == "0" || expr.text[0] != '0')) {
    return std::stoll(expr.text);
  }
  return expr.text;
}

Json exprs_to(const std::vector<Expr>& exprs) {
  Json all = Json::array();
  for (const Expr& expr : exprs) all.push_back(expr_to(expr));
  return all;
}

Json argument_to(const PlanArgument& argument) {
  if (argument.kind == PlanArgument::Kind::name) return argument.name;
  return Json{{argument.kind == PlanArgument::Kind::i32 ? "i32" : "i64", expr_to(argument.value)}};
}

Json launch_to(const PlanLaunch& launch) {
  Json json = Json::object();
  if (launch.name != launch.entry) json["name"] = launch.name;
  json["entry"] = launch.entry;
  if (launch.when == When::setup) json["when"] = "setup";
  json["grid"] = exprs_to(launch.grid);
  json["block"] = exprs_to(launch.block);
  if (!launch.cluster.empty()) json["cluster"] = exprs_to(launch.cluster);
  if (launch.shared.text != "0") json["shared"] = expr_to(launch.shared);
  if (launch.cooperative) json["cooperative"] = true;
  json["args"] = Json::array();
  for (const PlanArgument& argument : launch.args) json["args"].push_back(argument_to(argument));
  return json;
}

Json map_to(const PlanTensorMap& map) {
  Json json = {{"name", map.name}, {"of", map.of}, {"type", name_of(map.type)}, {"dims", exprs_to(map.dims)}};
  json["pitch"] = exprs_to(map.pitch);
  json["box"] = exprs_to(map.box);
  if (map.swizzle != 128) json["swizzle"] = map.swizzle;
  return json;
}

}  // namespace

Result<LaunchPlan> plan_from(const Json& json, const std::string& where) {
  ObjectReader reader(json, where, {"require", "let", "buffers", "maps", "launches"});
  LaunchPlan plan;
  plan.require = reader.exprs("require", false, 0, list_limit);
  if (const Json* let = reader.find_object("let")) {
    for (const auto& item : let->items()) {
      if (!is_identifier(item.key())) reader.fail("let." + item.key(), "is no identifier");
      plan.let.emplace_back(item.key(), reader.to_expr(item.value(), "let." + item.key()));
    }
  }
  plan.buffers = list_from<PlanBuffer>(reader, "buffers", false, {"name", "bytes", "content"}, buffer_from);
  plan.maps =
      list_from<PlanTensorMap>(reader, "maps", false, {"name", "of", "type", "dims", "pitch", "box", "swizzle"}, map_from);
  plan.launches =
      list_from<PlanLaunch>(reader, "launches", true,
                            {"name", "entry", "when", "grid", "block", "cluster", "shared", "cooperative", "args"}, launch_from);
  if (!reader.fault() && plan.launches.empty()) reader.fail("launches", "is empty", "a plan launches at least one kernel");
  if (!reader.fault()) check_names(reader, plan);
  if (reader.fault()) return *reader.fault();
  return plan;
}

Json plan_to(const LaunchPlan& plan) {
  Json json = Json::object();
  if (!plan.require.empty()) json["require"] = exprs_to(plan.require);
  for (const auto& [name, expr] : plan.let) json["let"][name] = expr_to(expr);
  for (const PlanBuffer& buffer : plan.buffers) {
    Json one = {{"name", buffer.name}, {"bytes", expr_to(buffer.bytes)}};
    if (buffer.content != BufferContent::scratch) one["content"] = content_names[static_cast<std::size_t>(buffer.content)];
    json["buffers"].push_back(std::move(one));
  }
  for (const PlanTensorMap& map : plan.maps) json["maps"].push_back(map_to(map));
  json["launches"] = Json::array();
  for (const PlanLaunch& launch : plan.launches) json["launches"].push_back(launch_to(launch));
  return json;
}

Result<LaunchPlan> launch_plan_from_json(std::string_view json) {
  auto parsed = parse_object(json, "launch plan");
  if (!parsed) return std::move(parsed.error());
  return plan_from(*parsed, "");
}

std::string launch_plan_to_json(const LaunchPlan& plan) {
  return plan_to(plan).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string kernel_id(const KernelSource& source) {
  // Each part is preceded by its length, so that no two sources share one hashed text.
  std::string whole;
  const auto add = [&](std::string_view part) { whole += fmt::format("{}:{}", part.size(), part); };
  add(source.language == Language::ptx ? "ptx" : "cuda");
  add(source.text);
  add(launch_plan_to_json(source.plan));
  for (const auto& [name, value] : source.constants) add(fmt::format("{}={}", name, value));
  return sha256_hex(whole);
}

}  // namespace cupilot
