// Responses: /v1/responses.
#include "llm/codec/formats.hpp"
#include "llm/codec/wire_json.hpp"

namespace cupilot::detail {
namespace {

std::string encode_response(const WireRequest& request) {
  constexpr const char* roles[] = {"system", "user", "assistant"};
  WireJson json = {{"model", request.model.model}, {"store", false}};
  WireJson input = WireJson::array();
  for (const ChatMessage& message : request.ask.messages)
    input.push_back({{"role", roles[static_cast<int>(message.role)]}, {"content", message.text}});
  json["input"] = std::move(input);
  const std::string key = prefix_key(request.ask);
  if (request.cache == "key" && !request.unwanted.cache && !key.empty())
    json["prompt_cache_key"] = key;
  json["max_output_tokens"] = request.output_tokens;
  if (request.model.sampling && !request.unwanted.sampling)
    json["temperature"] = request.ask.temperature;
  if (!request.model.effort.empty() && !request.unwanted.thinking)
    json["reasoning"] = {{"effort", request.model.effort}};
  if (!request.ask.schema.empty() && !request.unwanted.schema) {
    json["text"] = {{"format",
                     {{"type", "json_schema"},
                      {"name", "answer"},
                      {"strict", true},
                      {"schema", parse_wire(schema_for_hosts(request.ask.schema))}}}};
  }
  if (request.model.stream) json["stream"] = true;
  return dump(json);
}

void take_response_usage(const WireJson& response, WireReply& sum) {
  const WireJson& usage = at(response, "usage");
  const auto input = count_at(usage, "input_tokens"), output = count_at(usage, "output_tokens");
  if (!input || !output) return;
  sum.usage = ChatUsage{
      *input, count_at(at(usage, "input_tokens_details"), "cached_tokens").value_or(0), *output};
}

// Reads how a response ended; one in progress has not.
void take_status(const WireJson& response, WireReply& sum) {
  const std::string status = text_at(response, "status");
  const std::string reason = text_at(at(response, "incomplete_details"), "reason");
  if (status == "completed" || status == "incomplete") sum.closed = sum.ended = true;
  if (status == "incomplete" && sum.finish == ChatFinish::complete)
    sum.finish = reason == "content_filter" ? ChatFinish::filtered : ChatFinish::cut;
  if (status == "failed" || !at(response, "error").is_null()) {
    const ErrorText error = error_text(dump(response));
    sum.fault = EndpointFault::server;
    sum.detail = error.code + " " + error.message;
  }
  if (sum.model.empty()) sum.model = text_at(response, "model");
  take_response_usage(response, sum);
}

void take_content(const WireJson& content, WireReply& sum) {
  if (!content.is_array()) return;
  for (const WireJson& part : content) {
    const std::string type = text_at(part, "type");
    if (type == "output_text") sum.text += text_at(part, "text");
    if (type != "refusal") continue;
    sum.text += text_at(part, "refusal");
    sum.finish = ChatFinish::refused;
  }
}

WireReply decode_response(std::string_view body) {
  WireReply sum;
  const WireJson json = parse_wire(body);
  const WireJson& output = at(json, "output");
  if (output.is_array()) {
    for (const WireJson& item : output) {
      if (text_at(item, "type") == "message") take_content(at(item, "content"), sum);
      if (text_at(item, "type") == "function_call") sum.text += text_at(item, "arguments");
    }
  }
  take_status(json, sum);
  if (!output.is_array() && sum.fault == EndpointFault::none) {
    sum.fault = EndpointFault::malformed;
    sum.detail = json.is_object() ? "it has no output" : "no JSON object";
  }
  sum.ended = true;
  return sum;
}

void add_response_event(const StreamEvent& event, WireReply& sum) {
  const WireJson json = parse_wire(event.data);
  const std::string type = text_at(json, "type");
  if (!json.is_object()) {
    sum.fault = EndpointFault::malformed;
    sum.detail = "an event that is no JSON object";
  } else if (type == "response.output_text.delta" ||
             type == "response.function_call_arguments.delta") {
    sum.text += text_at(json, "delta");
  } else if (type == "response.refusal.delta") {
    sum.text += text_at(json, "delta");
    sum.finish = ChatFinish::refused;
  } else if (type == "error") {
    sum.fault = EndpointFault::server;
    sum.detail = text_at(json, "code") + " " + text_at(json, "message");
  } else if (at(json, "response").is_object()) {
    take_status(at(json, "response"), sum);
  }
}

}  // namespace

const Codec responses_codec = {"responses", "/responses",    "Authorization", "Bearer ",
                               {},          encode_response, decode_response, add_response_event};

}  // namespace cupilot::detail
