// Strategies as JSON: the schema that a model is held to, and the reader that believes none of it.
#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>

#include "agents/models/reply_text.hpp"
#include "agents/models/untrusted.hpp"
#include "base/json.hpp"
#include "task/nearest.hpp"

namespace cupilot {
namespace {

using Json = OrderedJson;
constexpr int deepest = 8;
constexpr std::size_t most_uses = 48, most_settings = 16;
constexpr const char* free_name = "free";

Unreadable shape(std::string message) { return {ReplyFault::bad_shape, std::move(message)}; }

// Refuses what a lenient parser hides: doubled keys and deep nesting.
Read<Json> parsed(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  bool twice = false, deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    deep = deep || depth > deepest;
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key)
      twice = twice || !keys.back().insert(value.get<std::string>()).second;
    return depth <= deepest;
  };
  Json json = Json::parse(text, watch, false);
  if (deep) return shape("it is nested too deeply");
  if (json.is_discarded()) return Unreadable{ReplyFault::not_json, "it is not one JSON object"};
  if (twice) return shape("a key stands twice in one object");
  return json;
}

// The field, when it is there and of this type.
const Json* field(const Json& object, const char* key, Json::value_t type) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->type() != type ? nullptr : &*found;
}

bool only_keys(const Json& object, std::initializer_list<std::string_view> allowed) {
  if (!object.is_object()) return false;
  for (const auto& [key, value] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) return false;
  }
  return true;
}

bool is_int64(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
}

std::vector<std::string_view> offered(const Space& space) {
  std::vector<std::string_view> names = {free_name};
  for (const Technique& row : space.techniques()) names.push_back(row.name);
  return names;
}

Unreadable no_technique(const std::string& name, std::span<const std::string_view> known) {
  const std::string_view close = close_to(name, known);
  return shape(fmt::format("there is no technique '{}'{}{}", tamed_line(name, 64),
                           close.empty() ? "" : "; nearest: ", close));
}

// The fault with the place in front: "strategies[0].techniques[2]: …".
Unreadable at_place(std::string_view list, std::size_t index, Unreadable fault) {
  const bool inside = fault.message.starts_with("techniques[");
  fault.message = fmt::format("{}[{}]{}{}", list, index, inside ? "." : ": ", fault.message);
  return fault;
}

std::optional<Unreadable> read_settings(const Json& use, Use& into) {
  const Json* settings = field(use, "settings", Json::value_t::array);
  if (settings == nullptr || settings->size() > most_settings)
    return shape("`settings` is no list, or too long");
  for (const Json& setting : *settings) {
    const Json* name = field(setting, "name", Json::value_t::string);
    if (name == nullptr || !only_keys(setting, {"name", "value"}) || !setting.contains("value") ||
        !is_int64(setting["value"]))
      return shape("a setting is not {\"name\": text, \"value\": integer}");
    into.values[tamed_line(name->get<std::string>(), 64)] = setting["value"].get<std::int64_t>();
  }
  return std::nullopt;
}

std::optional<Unreadable> read_use(const Json& json, const Space& space, Strategy& strategy,
                                   std::size_t& free_ones) {
  const Json* name = field(json, "name", Json::value_t::string);
  const Json* text = field(json, "text", Json::value_t::string);
  if (name == nullptr || text == nullptr || !only_keys(json, {"name", "settings", "text"}))
    return shape("a technique is not {\"name\", \"settings\", \"text\"}");
  Use use;
  use.technique = name->get<std::string>();
  if (auto fault = read_settings(json, use)) return fault;
  if (use.technique == free_name) {
    use.values.clear();
    use.text = tamed_line(text->get<std::string>(), longest_free_text);
    if (use.text.find_first_not_of(' ') == std::string::npos)
      return shape("a `free` technique has no text");
    if (++free_ones > most_free_uses)
      return shape(fmt::format("there are more than {} `free` techniques", most_free_uses));
  } else if (const auto known = offered(space);
             std::find(known.begin(), known.end(), use.technique) == known.end()) {
    return no_technique(use.technique, known);
  }
  const auto same = [&](const Use& other) {
    return other.technique == use.technique && other.text == use.text;
  };
  if (std::none_of(strategy.uses.begin(), strategy.uses.end(), same))
    strategy.uses.push_back(std::move(use));
  return std::nullopt;
}

Read<Strategy> read_strategy(const Json& json, const Space& space) {
  const Json* uses = field(json, "techniques", Json::value_t::array);
  const Json* rationale = field(json, "rationale", Json::value_t::string);
  if (uses == nullptr || rationale == nullptr || !only_keys(json, {"techniques", "rationale"}))
    return shape("a strategy is not {\"techniques\", \"rationale\"}");
  if (uses->empty() || uses->size() > most_uses)
    return shape("a strategy has no techniques, or too many");
  Strategy strategy;
  std::size_t free_ones = 0;
  for (std::size_t i = 0; i < uses->size(); ++i) {
    if (auto fault = read_use((*uses)[i], space, strategy, free_ones))
      return at_place("techniques", i, *fault);
  }
  strategy.rationale = tamed_line(rationale->get<std::string>(), longest_rationale);
  return strategy;
}

Json text_schema(std::size_t longest) { return {{"type", "string"}, {"maxLength", longest}}; }

Json object_schema(Json properties) {
  Json required = Json::array();
  for (const auto& [key, value] : properties.items()) required.push_back(key);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

Json list_schema(Json items, std::size_t least, std::size_t most) {
  return {{"type", "array"}, {"items", std::move(items)}, {"minItems", least}, {"maxItems", most}};
}

}  // namespace

Read<std::vector<Strategy>> read_strategy_reply(const ChatReply& reply, const Space& space,
                                                std::size_t most) {
  if (reply.finish == ChatFinish::invalid) {
    // The place of a fault says more than that there is one.
    ChatReply whole = reply;
    whole.finish = ChatFinish::complete;
    auto read = read_strategy_reply(whole, space, most);
    if (std::holds_alternative<Unreadable>(read)) return read;
  }
  if (auto fault = unreadable(reply)) return *fault;
  const Read<Json> json = parsed(reply.text);
  if (const auto* fault = std::get_if<Unreadable>(&json)) return *fault;
  const Json& whole = std::get<Json>(json);
  const Json* list = field(whole, "strategies", Json::value_t::array);
  if (list == nullptr || !only_keys(whole, {"strategies"}))
    return shape("it is not {\"strategies\": [...]}");
  if (list->size() > most) return shape(fmt::format("it holds more than {} strategies", most));
  std::vector<Strategy> strategies;
  for (const Json& item : *list) {
    Read<Strategy> strategy = read_strategy(item, space);
    if (const auto* fault = std::get_if<Unreadable>(&strategy))
      return at_place("strategies", strategies.size(), *fault);
    strategies.push_back(std::move(std::get<Strategy>(strategy)));
  }
  if (strategies.empty()) return Unreadable{ReplyFault::nothing_usable, "it holds no strategy"};
  return strategies;
}

std::string strategy_schema(const Space& space, std::size_t most) {
  Json names = Json::array(), parameters = Json::array();
  std::set<std::string> seen;
  for (const Technique& technique : space.techniques()) names.push_back(technique.name);
  for (const Knob& knob : space.knobs()) {
    if (seen.insert(knob.parameter).second) parameters.push_back(knob.parameter);
  }
  if (parameters.empty()) parameters.push_back("none");
  names.push_back(free_name);
  const Json setting = object_schema(
      {{"name", {{"type", "string"}, {"enum", parameters}}}, {"value", {{"type", "integer"}}}});
  const Json use = object_schema({{"name", {{"type", "string"}, {"enum", names}}},
                                  {"settings", list_schema(setting, 0, most_settings)},
                                  {"text", text_schema(longest_free_text)}});
  const Json strategy = object_schema({{"techniques", list_schema(use, 1, most_uses)},
                                       {"rationale", text_schema(longest_rationale)}});
  return object_schema({{"strategies", list_schema(strategy, 1, most)}}).dump();
}

}  // namespace cupilot
