// Launch-plan JSON, both ways (docs/formats/launch-plan.md).
#include "kernel/plan_json.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include <cupilot/parts/kernel_source.hpp>

#include "base/hash.hpp"
#include "kernel/library_step.hpp"
#include "kernel/plan_arguments.hpp"

namespace cupilot {
namespace {

constexpr std::size_t list_limit = 64;        // buffers, maps, arguments of one plan
constexpr std::size_t launch_limit = 16384;   // a loop's launches stand one after the other
constexpr std::int64_t record_limit = 32764;  // bytes of a kernel's parameters
constexpr std::string_view content_names[] = {"scratch", "zeroed", "restored", "table"};
constexpr std::string_view when_names[] = {"run", "setup"};
constexpr std::string_view texture_memory_names[] = {"linear", "pitch2d", "array"};
constexpr std::string_view texture_type_names[] = {"u8",  "s8",  "u16", "s16",
                                                   "u32", "s32", "f16", "f32"};
constexpr std::string_view texture_address_names[] = {"clamp", "border", "wrap", "mirror"};
constexpr std::string_view texture_filter_names[] = {"point", "linear"};
constexpr std::string_view texture_read_names[] = {"element", "fraction"};

// A tensor, buffer or map, with a question mark where it may be absent.
bool is_argument(std::string_view word) {
  if (word.ends_with('?')) word.remove_suffix(1);
  return is_identifier(word);
}

std::string name_from(JsonObject& object) {
  const std::string name = object.text("name", true);
  if (object.find("name") != nullptr && !is_identifier(name)) {
    object.fail("name", fmt::format("\"{}\" is no identifier", name),
                "letters, digits and '_', at most 64, no digit first");
  }
  return name;
}

PlanBuffer buffer_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  PlanBuffer buffer;
  buffer.name = name_from(object);
  buffer.bytes = object.expr("bytes", true);
  buffer.content = static_cast<BufferContent>(object.choice("content", content_names, 0));
  object.done();
  return buffer;
}

PlanTensorMap map_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  PlanTensorMap map;
  map.name = name_from(object);
  map.of = object.text("of", true);
  const std::string type = object.text("type", true);
  const auto known = dtype_from(type);
  map.type = known.value_or(map.type);
  map.dims = object.exprs("dims", true, 1, 5);
  map.pitch = object.exprs("pitch", false, 0, 4);
  map.box = object.exprs("box", true, 1, 5);
  map.swizzle = static_cast<int>(object.integer("swizzle", false, 128));
  object.done();
  if (!known)
    object.fail("type", fmt::format("unknown type \"{}\"", type),
                "such as bf16, fp16, fp32, i32, u8");
  if (map.pitch.size() + 1 != map.dims.size()) {
    object.fail("pitch", fmt::format("{} dims want {} pitches, got {}", map.dims.size(),
                                     map.dims.size() - 1, map.pitch.size()));
  }
  if (map.box.size() != map.dims.size()) {
    object.fail("box", fmt::format("{} dims want a box of as many sides, got {}", map.dims.size(),
                                   map.box.size()));
  }
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128) {
    object.fail("swizzle", fmt::format("{} is no swizzle", map.swizzle), "one of 0, 32, 64, 128");
  }
  return map;
}

TextureState texture_state(JsonObject& object) {
  TextureState state;
  state.surface = object.truth("surface", false);
  state.memory = static_cast<TextureMemory>(object.choice("memory", texture_memory_names, 2));
  state.type = static_cast<TextureType>(object.choice("type", texture_type_names, 7));
  state.channels = static_cast<int>(object.integer("channels", false, 1));
  state.layered = object.truth("layered", false);
  state.address = static_cast<TextureAddress>(object.choice("address", texture_address_names, 0));
  state.linear = object.choice("filter", texture_filter_names, 0) == 1;
  state.normalized = object.truth("normalized", false);
  state.normalized_read = object.choice("read", texture_read_names, 0) == 1;
  return state;
}

// Refuses what no driver makes an object of.
void check_texture(JsonObject& object, const PlanTexture& texture) {
  const TextureState& s = texture.state;
  const std::size_t rank = texture.dims.size() - (s.layered && !texture.dims.empty() ? 1 : 0);
  const bool whole = s.type != TextureType::f16 && s.type != TextureType::f32;
  const bool wide = s.type == TextureType::u32 || s.type == TextureType::s32;
  if (s.channels != 1 && s.channels != 2 && s.channels != 4)
    object.fail("channels", fmt::format("{} is no number of channels", s.channels), "1, 2 or 4");
  if (s.layered && (rank < 1 || rank > 2 || s.memory != TextureMemory::array))
    object.fail("layered", "layers are arrays of one or two dimensions", "the last of dims counts");
  const std::size_t fixed = s.memory == TextureMemory::linear    ? 1
                            : s.memory == TextureMemory::pitch2d ? 2
                                                                 : rank;
  if (rank != fixed)
    object.fail("dims",
                fmt::format("{} memory has {} dims, got {}",
                            texture_memory_names[static_cast<std::size_t>(s.memory)], fixed, rank));
  if ((s.memory == TextureMemory::pitch2d) != (texture.pitch.text != "0"))
    object.fail("pitch", "pitch2d memory has a pitch in bytes, no other has");
  if (s.surface && (s.memory != TextureMemory::array || s.linear || s.normalized ||
                    s.normalized_read || s.address != TextureAddress::clamp))
    object.fail("surface", "is of an array, and has neither filter, address nor read");
  if (s.memory == TextureMemory::linear && (s.linear || s.normalized))
    object.fail("memory", "linear memory is fetched by whole numbers, without a filter");
  if (s.normalized_read && (!whole || wide))
    object.fail("read", "integers of 8 and 16 bits alone read as fractions");
  if (s.linear && whole && !s.normalized_read)
    object.fail("filter", "a linear filter wants f16, f32 or fractions", "\"read\": \"fraction\"");
  const bool folds = s.address == TextureAddress::wrap || s.address == TextureAddress::mirror;
  if (folds && !s.normalized)
    object.fail("address", "wrap and mirror want normalized coordinates", "\"normalized\": true");
}

PlanTexture texture_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  PlanTexture texture;
  texture.name = name_from(object);
  texture.of = object.text("of", true);
  texture.state = texture_state(object);
  texture.dims = object.exprs("dims", true, 1, 3);
  texture.pitch = object.expr("pitch", false);
  object.done();
  check_texture(object, texture);
  return texture;
}

PlanArgument record_from(JsonObject& object);

PlanArgument argument_from(JsonFaults& faults, const Json& json, const std::string& where) {
  PlanArgument argument;
  if (json.is_string()) {
    argument.name = json.get<std::string>();
    if (!is_argument(argument.name)) {
      faults.fail(where,
                  fmt::format("\"{}\" is no name of a tensor, scalar, buffer, map or texture",
                              argument.name));
    }
    return argument;
  }
  JsonObject object(faults, json, where);
  if (object.find("bytes") != nullptr) return record_from(object);
  int keys = 0;
  for (const NumberType& type : number_types) {
    const std::string key(type.key);
    if (object.find(key.c_str()) == nullptr) continue;
    ++keys;
    argument.kind = type.kind;
    if (is_integer(type.kind)) {
      argument.value = object.expr(key.c_str(), false);
    } else {
      argument.number = object.number(key.c_str(), 0);
    }
  }
  object.done();
  if (keys != 1)
    faults.fail(where, "want exactly one of i8, i16, i32, i64, f32, f64, or bytes",
                "{\"i32\": \"m\"}");
  return argument;
}

// {"bytes": 16, "fields": [{"at": 0, "value": "A"}, {"at": 8, "value": {"i32": "m"}}]}
PlanArgument record_from(JsonObject& object) {
  PlanArgument record;
  record.kind = PlanArgument::Kind::record;
  const std::int64_t bytes = object.integer("bytes", true);
  if (bytes < 1 || bytes > record_limit)
    object.fail("bytes", fmt::format("{} is no size of a parameter", bytes), "1 to 32764");
  record.bytes = static_cast<int>(std::clamp<std::int64_t>(bytes, 1, record_limit));
  const std::vector<const Json*> fields = object.items("fields", true);
  for (std::size_t i = 0; i < std::min<std::size_t>(fields.size(), record_limit); ++i) {
    const std::string where = fmt::format("{}[{}]", object.where("fields"), i);
    JsonObject field(object.faults(), *fields[i], where);
    const Json* value = field.find("value");
    const std::int64_t at = field.integer("at", true);
    field.done();
    if (value == nullptr) {
      field.fail("value", "is missing", "a name or a number such as {\"i32\": \"m\"}");
      continue;
    }
    PlanArgument read = argument_from(object.faults(), *value, where + ".value");
    if (read.kind == PlanArgument::Kind::record)
      field.fail("value", "is a record in a record", "list its fields in the outer one");
    if (at < 0 || at >= record.bytes)
      field.fail("at", fmt::format("{} lies outside of {} bytes", at, record.bytes));
    read.at = static_cast<int>(std::clamp<std::int64_t>(at, 0, record.bytes - 1));
    record.fields.push_back(std::move(read));
  }
  object.done();
  return record;
}

// Reads an array of at most `limit` members, each by `one`.
template <class T>
std::vector<T> list_from(JsonObject& object, const char* key, bool needed,
                         T (*one)(JsonFaults&, const Json&, const std::string&),
                         std::size_t limit = list_limit) {
  std::vector<T> all;
  const std::vector<const Json*> items = object.items(key, needed);
  if (items.size() > limit) {
    object.fail(key, fmt::format("has {} members", items.size()), fmt::format("at most {}", limit));
    return all;
  }
  for (const Json* item : items)
    all.push_back(
        one(object.faults(), *item, fmt::format("{}[{}]", object.where(key), all.size())));
  return all;
}

PlanLaunch launch_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  PlanLaunch launch;
  launch.entry = object.text("entry", true);
  launch.name = object.text("name", false, launch.entry);
  launch.when = object.choice("when", when_names, 0) == 1 ? When::setup : When::run;
  launch.grid = object.exprs("grid", true, 1, 3);
  launch.block = object.exprs("block", true, 1, 3);
  launch.cluster = object.exprs("cluster", false, 1, 3);
  launch.shared = object.expr("shared", false);
  launch.cooperative = object.truth("cooperative", false);
  launch.library = object.text("library", false);
  launch.args = list_from<PlanArgument>(object, "args", true, argument_from);
  object.done();
  // A template of nested layouts has a name of some thousand bytes.
  if (launch.entry.empty() || launch.entry.size() > 4096)
    object.fail("entry", "want 1 to 4096 bytes");
  if (!launch.library.empty() && find_step_library(launch.library) == nullptr) {
    std::string known;
    for (const StepLibrary& one : step_libraries())
      known += fmt::format("{}{}", known.empty() ? "" : " or ", one.name);
    object.fail("library", "there is no such library", known);
  }
  return launch;
}

void check_names(JsonObject& plan, const LaunchPlan& read) {
  std::set<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!names.insert(name).second)
      plan.fail(name, "two buffers, maps or textures have this name", "rename one");
  };
  for (const PlanBuffer& buffer : read.buffers) add(buffer.name);
  for (const PlanTensorMap& map : read.maps) add(map.name);
  for (const PlanTexture& texture : read.textures) add(texture.name);
  std::set<std::string> launches;
  for (const PlanLaunch& launch : read.launches) {
    if (!launches.insert(launch.name).second)
      plan.fail("launches", fmt::format("two are called \"{}\"", launch.name), "give each a name");
  }
  if (read.launches.empty())
    plan.fail("launches", "is empty", "a plan launches at least one kernel");
}

Json expr_to(const Expr& expr) {
  if (!expr.text.empty() && expr.text.size() < 18 &&
      expr.text.find_first_not_of("0123456789") == std::string::npos &&
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
  if (const NumberType* type = number_type(argument.kind)) {
    return Json{{std::string(type->key),
                 is_integer(type->kind) ? expr_to(argument.value) : Json(argument.number)}};
  }
  Json fields = Json::array();
  for (const PlanArgument& field : argument.fields)
    fields.push_back({{"at", field.at}, {"value", argument_to(field)}});
  return Json{{"bytes", argument.bytes}, {"fields", std::move(fields)}};
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
  if (!launch.library.empty()) json["library"] = launch.library;
  json["args"] = Json::array();
  for (const PlanArgument& argument : launch.args) json["args"].push_back(argument_to(argument));
  return json;
}

Json map_to(const PlanTensorMap& map) {
  Json json = {{"name", map.name},
               {"of", map.of},
               {"type", name_of(map.type)},
               {"dims", exprs_to(map.dims)}};
  json["pitch"] = exprs_to(map.pitch);
  json["box"] = exprs_to(map.box);
  if (map.swizzle != 128) json["swizzle"] = map.swizzle;
  return json;
}

Json texture_to(const PlanTexture& texture) {
  const TextureState &s = texture.state, plain;
  Json json = {{"name", texture.name}, {"of", texture.of}};
  if (s.surface) json["surface"] = true;
  if (s.memory != plain.memory)
    json["memory"] = texture_memory_names[static_cast<std::size_t>(s.memory)];
  json["type"] = texture_type_names[static_cast<std::size_t>(s.type)];
  if (s.channels != 1) json["channels"] = s.channels;
  json["dims"] = exprs_to(texture.dims);
  if (s.memory == TextureMemory::pitch2d) json["pitch"] = expr_to(texture.pitch);
  if (s.layered) json["layered"] = true;
  if (s.address != plain.address)
    json["address"] = texture_address_names[static_cast<std::size_t>(s.address)];
  if (s.linear) json["filter"] = "linear";
  if (s.normalized) json["normalized"] = true;
  if (s.normalized_read) json["read"] = "fraction";
  return json;
}

}  // namespace

bool is_identifier(std::string_view word) {
  const bool begins = !word.empty() && !(word[0] >= '0' && word[0] <= '9');
  return begins && word.size() <= 64 && std::all_of(word.begin(), word.end(), is_word);
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

LaunchPlan plan_from(JsonFaults& faults, const Json& json, const std::string& where) {
  JsonObject object(faults, json, where);
  LaunchPlan plan;
  plan.require = object.exprs("require", false, 0, list_limit);
  if (const Json* let = object.find_object("let")) {
    for (const auto& item : let->items()) {
      const std::string place = object.where("let") + "." + item.key();
      if (!is_identifier(item.key())) faults.fail(place, "is no identifier");
      plan.let.emplace_back(item.key(), object.to_expr(item.value(), place));
    }
  }
  plan.buffers = list_from<PlanBuffer>(object, "buffers", false, buffer_from);
  plan.maps = list_from<PlanTensorMap>(object, "maps", false, map_from);
  plan.textures = list_from<PlanTexture>(object, "textures", false, texture_from);
  plan.launches = list_from<PlanLaunch>(object, "launches", true, launch_from, launch_limit);
  object.done();
  check_names(object, plan);
  return plan;
}

Json plan_to(const LaunchPlan& plan) {
  Json json = Json::object();
  if (!plan.require.empty()) json["require"] = exprs_to(plan.require);
  for (const auto& [name, expr] : plan.let) json["let"][name] = expr_to(expr);
  for (const PlanBuffer& buffer : plan.buffers) {
    Json one = {{"name", buffer.name}, {"bytes", expr_to(buffer.bytes)}};
    if (buffer.content != BufferContent::scratch)
      one["content"] = content_names[static_cast<std::size_t>(buffer.content)];
    json["buffers"].push_back(std::move(one));
  }
  for (const PlanTensorMap& map : plan.maps) json["maps"].push_back(map_to(map));
  for (const PlanTexture& texture : plan.textures) json["textures"].push_back(texture_to(texture));
  json["launches"] = Json::array();
  for (const PlanLaunch& launch : plan.launches) json["launches"].push_back(launch_to(launch));
  return json;
}

Result<LaunchPlan> launch_plan_from_json(std::string_view json) {
  const std::string origin = "launch plan";
  const auto parsed = read_json_object(json, origin);
  if (!parsed) return parsed.error();
  JsonFaults faults(origin, "docs/formats/launch-plan.md");
  LaunchPlan plan = plan_from(faults, *parsed, "");
  if (faults.first()) return *faults.first();
  return plan;
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
