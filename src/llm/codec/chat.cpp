// Chat completions: /v1/chat/completions. Two rows: an answer with a schema is the message itself,
// or the arguments of a tool that the model has to call.
#include "llm/codec/formats.hpp"
#include "llm/codec/wire_json.hpp"

namespace cupilot::detail {
namespace {

constexpr const char* role_names[] = {"system", "user", "assistant"};

void put_schema(const WireRequest& request, bool as_tool, WireJson& json) {
  if (request.ask.schema.empty() || request.unwanted.schema) return;
  WireJson schema = parse_wire(schema_for_hosts(request.ask.schema));
  if (!as_tool) {
    json["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", "answer"}, {"strict", true}, {"schema", std::move(schema)}}}};
    return;
  }
  json["tools"] = WireJson::array(
      {{{"type", "function"},
        {"function",
         {{"name", "answer"}, {"description", "Gives the answer."}, {"parameters", schema}}}}});
  json["tool_choice"] = {{"type", "function"}, {"function", {{"name", "answer"}}}};
}

std::string encoded(const WireRequest& request, bool as_tool) {
  WireJson json = {{"model", request.model.model}};
  WireJson messages = WireJson::array();
  const std::string_view cache = request.unwanted.cache ? "none" : request.cache;
  std::size_t index = 0;
  for (const ChatMessage& message : request.ask.messages) {
    WireJson content = message.text;
    if (++index == request.ask.constant_messages && cache == "marks")
      content = WireJson::array(
          {{{"type", "text"}, {"text", message.text}, {"cache_control", {{"type", "ephemeral"}}}}});
    messages.push_back(
        {{"role", role_names[static_cast<int>(message.role)]}, {"content", std::move(content)}});
  }
  json["messages"] = std::move(messages);
  if (const std::string key = prefix_key(request.ask); cache == "key" && !key.empty())
    json["prompt_cache_key"] = key;
  json[request.unwanted.long_limit_name ? "max_tokens" : "max_completion_tokens"] =
      request.output_tokens;
  if (request.model.sampling && !request.unwanted.sampling) {
    json["temperature"] = request.ask.temperature;
    json["seed"] = request.ask.seed & 0x7fffffff;
  }
  if (!request.model.effort.empty() && !request.unwanted.thinking)
    json["reasoning_effort"] = request.model.effort;
  put_schema(request, as_tool, json);
  if (request.model.stream) {
    json["stream"] = true;
    if (!request.unwanted.usage_in_stream) json["stream_options"] = {{"include_usage", true}};
  }
  return dump(json);
}

std::string encode(const WireRequest& request) { return encoded(request, false); }
std::string encode_tools(const WireRequest& request) { return encoded(request, true); }

void take_usage(const WireJson& json, WireReply& sum) {
  const WireJson& usage = at(json, "usage");
  const auto input = count_at(usage, "prompt_tokens"),
             output = count_at(usage, "completion_tokens");
  if (!input || !output) return;
  sum.usage = ChatUsage{
      *input, count_at(at(usage, "prompt_tokens_details"), "cached_tokens").value_or(0), *output};
}

void take_stop(const std::string& reason, WireReply& sum) {
  if (reason.empty()) return;
  sum.closed = true;
  if (reason == "length") sum.finish = ChatFinish::cut;
  if (reason == "content_filter") sum.finish = ChatFinish::filtered;
}

void take_error(const WireJson& json, WireReply& sum) {
  if (at(json, "error").is_null()) return;
  const ErrorText error = error_text(dump(json));
  sum.fault = EndpointFault::server;
  sum.detail = error.type + " " + error.message;
}

// The part of a choice that a whole reply calls message and a stream calls delta.
void take_choice(const WireJson& choice, const char* part, WireReply& sum) {
  const WireJson& message = at(choice, part);
  sum.text += text_at(message, "content");
  // Only the first piece of a call names the tool.
  sum.text += text_at(at(first_of(at(message, "tool_calls")), "function"), "arguments");
  const std::string refusal = text_at(message, "refusal");
  if (!refusal.empty()) {
    sum.finish = ChatFinish::refused;
    sum.text += refusal;
  }
  if (sum.finish != ChatFinish::refused) take_stop(text_at(choice, "finish_reason"), sum);
  if (!text_at(choice, "finish_reason").empty()) sum.closed = true;
}

WireReply decode(std::string_view body) {
  WireReply sum;
  const WireJson json = parse_wire(body);
  take_error(json, sum);
  const WireJson& choice = first_of(at(json, "choices"));
  if (!choice.is_object() && sum.fault == EndpointFault::none) {
    sum.fault = EndpointFault::malformed;
    sum.detail = json.is_object() ? "it has no choices" : "no JSON object";
  }
  take_choice(choice, "message", sum);
  sum.model = text_at(json, "model");
  sum.ended = true;
  take_usage(json, sum);
  return sum;
}

void add(const StreamEvent& event, WireReply& sum) {
  if (event.data == "[DONE]") {
    sum.ended = true;
    return;
  }
  const WireJson json = parse_wire(event.data);
  if (!json.is_object()) {
    sum.fault = EndpointFault::malformed;
    sum.detail = "an event that is no JSON object";
    return;
  }
  take_error(json, sum);
  take_choice(first_of(at(json, "choices")), "delta", sum);
  if (sum.model.empty()) sum.model = text_at(json, "model");
  take_usage(json, sum);
}

}  // namespace

const Codec chat_codec = {
    "chat", "/chat/completions", "Authorization", "Bearer ", {}, encode, decode, add};
const Codec tools_codec = {"tools", "/chat/completions", "Authorization", "Bearer ",
                           {},      encode_tools,        decode,          add};

}  // namespace cupilot::detail
