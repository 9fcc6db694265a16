#include "llm/codec/formats.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "llm/codec/wire_json.hpp"

namespace cupilot {
namespace {

bool holds(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

bool holds_any(const ErrorText& error, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return holds(error.type, word) || holds(error.code, word) || holds(error.message, word);
  });
}

bool is_quota(const ErrorText& error) {
  return holds_any(
      error, {"insufficient_quota", "quota_exceeded", "billing", "credit balance", "spend limit",
              "spending limit", "insufficient credit", "exceeded your current quota"});
}

bool is_too_long(const ErrorText& error) {
  return holds_any(error, {"context_length_exceeded", "exceed_context_size",
                           "maximum context length", "prompt is too long"});
}

}  // namespace

std::string prefix_key(const ChatRequest& ask) {
  std::string head;
  for (std::size_t i = 0; i < std::min(ask.constant_messages, ask.messages.size()); ++i)
    head += ask.messages[i].text;
  return head.empty() ? head : "cupilot-" + sha256_hex(head).substr(0, 16);
}

std::span<const Codec> codecs() {
  static const std::array rows = {detail::chat_codec, detail::messages_codec,
                                  detail::responses_codec, detail::tools_codec};
  return rows;
}

const Codec* find_codec(std::string_view name) {
  const auto found = std::find_if(codecs().begin(), codecs().end(),
                                  [&](const Codec& codec) { return codec.name == name; });
  return found == codecs().end() ? nullptr : &*found;
}

ErrorText error_text(std::string_view body) {
  const WireJson json = parse_wire(body);
  const WireJson& error = at(json, "error");
  if (error.is_string()) return {"", "", error.get<std::string>()};
  return {text_at(error, "type"), text_at(error, "code"), text_at(error, "message")};
}

EndpointFault fault_of_status(int status, const ErrorText& error) {
  if (status >= 300 && status < 400) return EndpointFault::redirect;
  if (status == 402 || (status >= 400 && status < 500 && is_quota(error)))
    return EndpointFault::quota;
  if (status == 401 || status == 403) return EndpointFault::unauthorized;
  if (status == 404 || status == 405) return EndpointFault::not_found;
  if (status == 408 || status == 409) return EndpointFault::server;
  if (status == 429) return EndpointFault::rate_limit;
  if (status >= 400 && status < 500)
    return is_too_long(error) ? EndpointFault::too_long : EndpointFault::bad_request;
  if (status == 503 || status == 529) return EndpointFault::overloaded;
  if (status >= 500 && status < 600) return EndpointFault::server;
  return EndpointFault::odd_status;
}

bool learn_unwanted(const ErrorText& error, Unwanted& unwanted) {
  struct Row {
    std::string_view word;
    bool Unwanted::*what;
  };
  constexpr Row rows[] = {{"temperature", &Unwanted::sampling},
                          {"seed", &Unwanted::sampling},
                          {"response_format", &Unwanted::schema},
                          {"json_schema", &Unwanted::schema},
                          {"output_config", &Unwanted::schema},
                          {"text.format", &Unwanted::schema},
                          {"tool_choice", &Unwanted::schema},
                          {"reasoning", &Unwanted::thinking},
                          {"thinking", &Unwanted::thinking},
                          {"cache_control", &Unwanted::cache},
                          {"prompt_cache_key", &Unwanted::cache},
                          {"stream_options", &Unwanted::usage_in_stream},
                          {"max_completion_tokens", &Unwanted::long_limit_name}};
  // A limit that is too large is refused by its name too.
  const bool too_many = holds_any(error, {"too large", "exceed", "at most", "maximum"});
  for (const Row& row : rows) {
    if (unwanted.*row.what || !holds_any(error, {row.word})) continue;
    if (too_many && row.what == &Unwanted::long_limit_name) continue;
    unwanted.*row.what = true;
    return true;
  }
  return false;
}

namespace {

// `names`: the keys of this object are names of properties, not words of the schema.
WireJson without_limits(const WireJson& schema, bool names) {
  constexpr std::string_view limits[] = {"maxLength", "minLength", "maxItems", "minItems",
                                         "minimum",   "maximum",   "pattern",  "format"};
  if (schema.is_array()) {
    WireJson list = WireJson::array();
    for (const WireJson& item : schema) list.push_back(without_limits(item, false));
    return list;
  }
  if (!schema.is_object()) return schema;
  WireJson kept = WireJson::object();
  for (const auto& [key, value] : schema.items()) {
    if (!names && std::find(std::begin(limits), std::end(limits), key) != std::end(limits))
      continue;
    kept[key] = without_limits(value, !names && key == "properties");
  }
  return kept;
}

}  // namespace

std::string schema_for_hosts(std::string_view schema) {
  return dump(without_limits(parse_wire(schema), false));
}

std::string without_reasoning(std::string text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text.compare(first, 7, "<think>") != 0) return text;
  const std::size_t end = text.find("</think>", first);
  return end == text.npos ? std::string() : text.substr(end + 8);
}

}  // namespace cupilot
