#include "llm/codec/wire_json.hpp"

namespace cupilot {
namespace {

const WireJson null_json;

}  // namespace

WireJson parse_wire(std::string_view text) {
  const auto shallow = [](int depth, WireJson::parse_event_t, WireJson&) {
    return depth <= deepest_reply;
  };
  return WireJson::parse(text, shallow, false);
}

const WireJson& at(const WireJson& object, const char* key) {
  if (!object.is_object()) return null_json;
  const auto found = object.find(key);
  return found == object.end() ? null_json : *found;
}

const WireJson& first_of(const WireJson& array) {
  return array.is_array() && !array.empty() ? array[0] : null_json;
}

std::string text_at(const WireJson& object, const char* key) {
  const WireJson& value = at(object, key);
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? value.dump() : std::string();
}

std::optional<std::int64_t> count_at(const WireJson& object, const char* key) {
  const WireJson& value = at(object, key);
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return INT64_MAX;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return std::nullopt;
}

std::string dump(const WireJson& json) {
  return json.dump(-1, ' ', false, WireJson::error_handler_t::replace);
}

}  // namespace cupilot
