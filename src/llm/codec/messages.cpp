// Messages: /v1/messages.
#include <array>

#include "llm/codec/formats.hpp"
#include "llm/codec/wire_json.hpp"

namespace cupilot::detail {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 1> headers = {
    {{"anthropic-version", "2023-06-01"}}};

// The constant head ends in a mark up to which the endpoint may keep it.
WireJson block(const std::string& text, bool keep) {
  WireJson json = {{"type", "text"}, {"text", text}};
  if (keep) json["cache_control"] = {{"type", "ephemeral"}};
  return json;
}

std::string encode_messages(const WireRequest& request) {
  WireJson json = {{"model", request.model.model}, {"max_tokens", request.output_tokens}};
  WireJson system = WireJson::array(), messages = WireJson::array();
  std::size_t index = 0;
  for (const ChatMessage& message : request.ask.messages) {
    const bool marked =
        (request.cache.empty() || request.cache == "marks") && !request.unwanted.cache;
    const bool keep = ++index == request.ask.constant_messages && marked;
    if (message.role == ChatMessage::Role::system) {
      system.push_back(block(message.text, keep));
    } else {
      const char* role = message.role == ChatMessage::Role::user ? "user" : "assistant";
      messages.push_back(
          {{"role", role}, {"content", WireJson::array({block(message.text, keep)})}});
    }
  }
  if (!system.empty()) json["system"] = std::move(system);
  json["messages"] = std::move(messages);
  if (request.model.sampling && !request.unwanted.sampling)
    json["temperature"] = request.ask.temperature;
  if (request.model.thinking_tokens > 0 && !request.unwanted.thinking)
    json["thinking"] = {{"type", "enabled"}, {"budget_tokens", request.model.thinking_tokens}};
  if (!request.model.effort.empty() && !request.unwanted.thinking)
    json["output_config"]["effort"] = request.model.effort;
  if (!request.ask.schema.empty() && !request.unwanted.schema) {
    json["output_config"]["format"] = {
        {"type", "json_schema"}, {"schema", parse_wire(schema_for_hosts(request.ask.schema))}};
  }
  if (request.model.stream) json["stream"] = true;
  return dump(json);
}

// Here the input counts what was neither read from a kept prefix nor written to one. A stream gives
// the parts at different times.
void take_message_usage(const WireJson& usage, WireReply& sum) {
  const auto input = count_at(usage, "input_tokens"), output = count_at(usage, "output_tokens");
  if (!input && !output) return;
  ChatUsage claimed = sum.usage.value_or(ChatUsage{});
  if (input) {
    const std::int64_t read = count_at(usage, "cache_read_input_tokens").value_or(0);
    const std::int64_t written = count_at(usage, "cache_creation_input_tokens").value_or(0);
    constexpr std::int64_t absurd = INT64_MAX / 4;
    const bool sane = *input < absurd && read < absurd && written < absurd && *input >= 0 &&
                      read >= 0 && written >= 0;
    claimed.input_tokens = sane ? *input + read + written : -1;
    claimed.cached_tokens = read;
  }
  if (output) claimed.output_tokens = *output;
  sum.usage = claimed;
}

void take_message_stop(const std::string& reason, WireReply& sum) {
  if (reason.empty()) return;
  sum.closed = true;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded")
    sum.finish = ChatFinish::cut;
  if (reason == "refusal") sum.finish = ChatFinish::refused;
}

void take_message_error(const WireJson& json, WireReply& sum) {
  const ErrorText error = error_text(dump(json));
  sum.fault = error.type == "overloaded_error" ? EndpointFault::overloaded : EndpointFault::server;
  sum.detail = error.type + " " + error.message;
}

WireReply decode_message(std::string_view body) {
  WireReply sum;
  const WireJson json = parse_wire(body);
  const WireJson& content = at(json, "content");
  if (!at(json, "error").is_null()) {
    take_message_error(json, sum);
  } else if (!content.is_array()) {
    sum.fault = EndpointFault::malformed;
    sum.detail = json.is_object() ? "it has no content" : "no JSON object";
  }
  for (std::size_t i = 0; i < content.size() && content.is_array(); ++i) {
    if (text_at(content[i], "type") == "text") sum.text += text_at(content[i], "text");
    if (text_at(content[i], "type") == "tool_use") sum.text += dump(at(content[i], "input"));
  }
  take_message_stop(text_at(json, "stop_reason"), sum);
  sum.model = text_at(json, "model");
  sum.ended = true;
  take_message_usage(at(json, "usage"), sum);
  return sum;
}

void add_message_event(const StreamEvent& event, WireReply& sum) {
  const WireJson json = parse_wire(event.data);
  const std::string type = text_at(json, "type");
  if (!json.is_object()) {
    sum.fault = EndpointFault::malformed;
    sum.detail = "an event that is no JSON object";
  } else if (type == "error") {
    take_message_error(json, sum);
  } else if (type == "message_start") {
    sum.model = text_at(at(json, "message"), "model");
    take_message_usage(at(at(json, "message"), "usage"), sum);
  } else if (type == "content_block_delta") {
    // Thinking stands under another name.
    sum.text += text_at(at(json, "delta"), "text") + text_at(at(json, "delta"), "partial_json");
  } else if (type == "message_delta") {
    take_message_stop(text_at(at(json, "delta"), "stop_reason"), sum);
    take_message_usage(at(json, "usage"), sum);
  } else if (type == "message_stop") {
    sum.ended = true;
  }
}

}  // namespace

const Codec messages_codec = {"messages", "/messages",     "x-api-key",    "",
                              headers,    encode_messages, decode_message, add_message_event};

}  // namespace cupilot::detail
