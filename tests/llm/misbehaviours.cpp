#include "llm/misbehaviours.hpp"

#include <fmt/core.h>

namespace cupilot::testing {
namespace {

using Then = ScriptStep::Then;

constexpr const char* answer_schema =
    R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false})";

std::string http(int status, const std::string& headers, const std::string& body) {
  return fmt::format("HTTP/1.1 {} x\r\n{}Content-Length: {}\r\n\r\n{}", status, headers,
                     body.size(), body);
}
std::string json(int status, const std::string& body, const std::string& headers = "") {
  return http(status, "Content-Type: application/json\r\n" + headers, body);
}
std::string html(int status) {
  return http(status, "Content-Type: text/html\r\n", "<html><h1>Sign in</h1></html>");
}
std::string error(int status, const std::string& code, const std::string& message,
                  const std::string& headers = "") {
  return json(
      status,
      fmt::format(R"({{"error":{{"type":"t","code":"{}","message":"{}"}}}})", code, message),
      headers);
}
std::string events(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + body;
}

std::string chat(const std::string& message, const std::string& stop, const std::string& usage) {
  return fmt::format(R"({{"model":"m-1","choices":[{{"message":{{{}}},"finish_reason":"{}"}}]{}}})",
                     message, stop, usage);
}
constexpr const char* usage_100_20 = R"(,"usage":{"prompt_tokens":100,"completion_tokens":20})";
std::string said(const std::string& text) {
  return json(200, chat(R"("content":")" + text + "\"", "stop", usage_100_20));
}
std::string with_usage(const std::string& usage) {
  return json(200, chat(R"("content":"hello")", "stop", usage));
}

std::string messages(const std::string& content, const std::string& stop) {
  return json(
      200,
      fmt::format(
          R"({{"model":"m-2","content":[{}],"stop_reason":"{}","usage":{{"input_tokens":60,"cache_read_input_tokens":40,"output_tokens":20}}}})",
          content, stop));
}

std::string delta(const std::string& text) {
  return "data: {\"choices\":[{\"delta\":{\"content\":\"" + text + "\"}}]}\n\n";
}
const std::string chat_stop = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const std::string chat_end =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20}}\n\ndata: "
    "[DONE]\n\n";
const std::string message_start =
    "event: message_start\ndata: "
    "{\"type\":\"message_start\",\"message\":{\"model\":\"m-2\",\"usage\":{\"input_tokens\":60,"
    "\"cache_read_input_tokens\":40,\"output_tokens\":1}}}\n\n";
const std::string message_parts =
    ": alive\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"
    "data: "
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\","
    "\"thinking\":\"hm\"}}\r\n\r\n"
    "data: "
    "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":"
    "\"hello\"}}\n\n";
const std::string message_end =
    "data: "
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_"
    "tokens\":20}}\n\n"
    "data: {\"type\":\"message_stop\"}\n\n";

void add_limits(std::vector<Misbehaviour>& all) {
  const ScriptStep good{said("hello")};
  all.push_back({"429 without Retry-After",
                 "complete after 2 requests",
                 {{error(429, "rate", "slow down")}, good}});
  all.push_back({"429 with Retry-After: 7",
                 "complete after 2 requests",
                 {{error(429, "r", "", "Retry-After: 7\r\n")}, good}});
  all.back().least_wait = 6.99;
  all.push_back({"429 with Retry-After as a date long past",
                 "complete after 2 requests",
                 {{error(429, "r", "", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n")}, good}});
  all.push_back({"429 with retry-after-ms: 2500",
                 "complete after 2 requests",
                 {{error(429, "r", "", "retry-after-ms: 2500\r\n")}, good}});
  all.back().least_wait = 2.49;
  all.push_back({"429 with Retry-After: 900",
                 "rate_limit after 1 request",
                 {{error(429, "r", "", "Retry-After: 900\r\n")}}});
  all.push_back({"429 each time", "rate_limit after 5 requests", {{error(429, "r", "slow down")}}});
  all.push_back({"429 with a code of spent quota",
                 "quota after 1 request",
                 {{error(429, "insufficient_quota", "")}}});
  all.push_back({"402", "quota after 1 request", {{error(402, "", "pay")}}});
  all.push_back({"400 that says the credit balance is too low",
                 "quota after 1 request",
                 {{error(400, "", "Your credit balance is too low")}},
                 "messages"});
  all.push_back({"x-ratelimit-remaining-requests: 0 and a reset in 1m30s, before a cut reply",
                 "complete after 2 requests",
                 {{"HTTP/1.1 200 OK\r\nContent-Type: "
                   "application/json\r\nx-ratelimit-remaining-requests: 0\r\n"
                   "x-ratelimit-reset-requests: 1m30s\r\nContent-Length: 900\r\n\r\n{"},
                  good}});
  all.back().least_wait = 89;
}

void add_statuses(std::vector<Misbehaviour>& all) {
  const ScriptStep good{said("hello")};
  all.push_back({"401 that repeats the key",
                 "unauthorized after 1 request",
                 {{error(401, "bad", "no key canary-Key+7/zQ=%42\\\"end")}}});
  all.push_back({"403", "unauthorized after 1 request", {{error(403, "", "no")}}});
  all.push_back(
      {"404", "not_found after 1 request", {{error(404, "model_not_found", "no such model")}}});
  all.push_back({"400 for a prompt that is too long",
                 "too_long after 1 request",
                 {{error(400, "context_length_exceeded", "")}}});
  all.push_back({"400 that names stream_options",
                 "complete after 2 requests",
                 {{error(400, "", "unknown field stream_options")}, good}});
  all.push_back({"400 that names response_format",
                 "complete after 2 requests",
                 {{error(400, "", "response_format is not supported")}, {said("{\\\"n\\\":1}")}},
                 "chat",
                 answer_schema});
  all.push_back({"400 to a schema, in the words of a grammar",
                 "complete after 2 requests",
                 {{error(400, "", "The provided JSON contains features not supported by xgrammar")},
                  {said("{\\\"n\\\":1}")}},
                 "chat",
                 answer_schema});
  all.push_back({"400 to a schema, in the words of a property",
                 "complete after 2 requests",
                 {{error(400, "", "For 'array' type, property 'maxItems' is not supported")},
                  {messages(R"({"type":"text","text":"{\"n\":1}"})", "end_turn")}},
                 "messages",
                 answer_schema});
  all.push_back({"400 to a schema and without it",
                 "bad_request after 2 requests",
                 {{error(400, "", "no")}},
                 "chat",
                 answer_schema});
  all.push_back(
      {"400 that names nothing", "bad_request after 1 request", {{error(400, "", "no")}}});
  all.push_back({"413 in HTML", "bad_request after 1 request", {{html(413)}}});
  all.push_back({"500 once", "complete after 2 requests", {{error(500, "", "oops")}, good}});
  all.push_back({"502 in HTML each time", "server after 5 requests", {{html(502)}}});
  all.push_back({"503 twice", "complete after 3 requests", {{html(503)}, {html(503)}, good}});
  all.push_back({"529 once",
                 "complete after 2 requests",
                 {{error(529, "overloaded_error", "")},
                  {messages(R"({"type":"text","text":"hello"})", "end_turn")}},
                 "messages"});
  all.push_back({"529 with x-should-retry: false",
                 "overloaded after 1 request",
                 {{error(529, "", "", "x-should-retry: false\r\n")}}});
  all.push_back({"204", "odd_status after 1 request", {{"HTTP/1.1 204 None\r\n\r\n"}}});
}

void add_bodies(std::vector<Misbehaviour>& all) {
  const ScriptStep good{said("hello")};
  all.push_back({"HTML with 200", "wrong_type after 1 request", {{html(200)}}});
  all.push_back({"200 without content type",
                 "wrong_type after 1 request",
                 {{http(200, "", chat(R"("content":"hello")", "stop", ""))}}});
  all.push_back({"JSON with 200 that is none",
                 "malformed after 5 requests",
                 {{json(200, "{\"choices\": [")}}});
  all.push_back({"a hundred thousand open brackets",
                 "malformed after 5 requests",
                 {{json(200, std::string(100000, '['))}}});
  all.push_back({"broken UTF-8 in a reply", "malformed after 5 requests", {{said("\xff\xfe")}}});
  all.push_back(
      {"choices of length 0", "malformed after 5 requests", {{json(200, R"({"choices":[]})")}}});
  all.push_back({"content that is no list",
                 "malformed after 5 requests",
                 {{json(200, R"({"content":"hello"})")}},
                 "messages"});
  all.push_back({"200 with an error object",
                 "complete after 2 requests",
                 {{error(200, "", "upstream failed")}, good}});
  all.push_back({"a reply without text", "complete after 2 requests", {{said("")}, good}});
  all.push_back({"a reply without text each time", "empty after 5 requests", {{said(" ")}}});
  all.push_back({"a reply cut at the token limit",
                 "cut after 2 requests",
                 {{json(200, chat(R"("content":"hel")", "length", usage_100_20))}}});
  const ScriptStep cut{json(200, chat(R"("content":"hel")", "length", usage_100_20))};
  all.push_back({"a reply cut at the token limit, whole at twice the limit",
                 "complete after 2 requests",
                 {cut, good}});
  all.push_back({"a reply cut at the token limit, and a longer one refused",
                 "cut after 2 requests",
                 {cut, {error(400, "", "max_completion_tokens exceeds 1500")}}});
  all.push_back({"thinking that used up the token limit",
                 "cut after 2 requests",
                 {{messages(R"({"type":"thinking","thinking":"hm"})", "max_tokens")}},
                 "messages"});
  all.push_back(
      {"a refusal of its own field",
       "refused after 1 request",
       {{json(200, chat(R"("content":null,"refusal":"I will not")", "stop", usage_100_20))}}});
  all.push_back({"a refusal as reason to stop",
                 "refused after 1 request",
                 {{messages("", "refusal")}},
                 "messages"});
  all.push_back({"a content filter",
                 "filtered after 1 request",
                 {{json(200, chat(R"("content":"")", "content_filter", usage_100_20))}}});
  all.push_back(
      {"reasoning in the text", "complete after 1 request", {{said("<think>hm hm</think>hello")}}});
  all.push_back({"a reply that repeats the key",
                 "complete after 1 request",
                 {{said("hello canary-Key+7/zQ=%42\\\"end")}}});
  all.push_back({"an answer in a fence with prose",
                 "complete after 1 request",
                 {{said("Sure {here}:\\n```json\\n{\\\"n\\\": 1}\\n```")}},
                 "chat",
                 answer_schema});
  all.push_back({"an answer as the arguments of a tool",
                 "complete after 1 request",
                 {{json(200, chat(R"("content":null,"tool_calls":[{"type":"function","function":{)"
                                  R"("name":"answer","arguments":"{\"n\":1}"}}])",
                                  "tool_calls", usage_100_20))}},
                 "tools",
                 answer_schema});
  all.push_back({"an answer that breaks its schema once",
                 "complete after 2 requests",
                 {{said("{\\\"n\\\":\\\"one\\\"}")}, {said("{\\\"n\\\":1}")}},
                 "chat",
                 answer_schema});
  all.push_back({"an answer that breaks its schema each time",
                 "invalid after 3 requests",
                 {{said("{\\\"m\\\":1}")}},
                 "chat",
                 answer_schema});
}

void add_usage(std::vector<Misbehaviour>& all) {
  const char* claims[][2] = {
      {"usage below zero", R"(,"usage":{"prompt_tokens":-5,"completion_tokens":20})"},
      {"usage beyond what was sent",
       R"(,"usage":{"prompt_tokens":900000000000,"completion_tokens":20})"},
      {"usage beyond what was allowed",
       R"(,"usage":{"prompt_tokens":100,"completion_tokens":18446744073709551615})"},
      {"more tokens from a kept prefix than there were",
       R"(,"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":101}})"},
  };
  for (const auto& [name, usage] : claims) {
    all.push_back({name, "complete after 1 request", {{with_usage(usage)}}});
    all.back().charges_reservation = true;
  }
  all.push_back({"no usage", "complete after 1 request", {{with_usage("")}}});
  all.push_back(
      {"usage in words", "complete after 1 request", {{with_usage(R"(,"usage":"plenty")")}}});
}

void add_streams(std::vector<Misbehaviour>& all) {
  const auto stream = [&](const char* name, const char* outcome, std::vector<ScriptStep> steps,
                          const char* format = "chat") {
    all.push_back({name, outcome, std::move(steps), format});
    all.back().stream = true;
  };
  const std::string chat_good = delta("hel") + delta("lo") + chat_stop + chat_end;
  const std::string message_good = message_start + message_parts + message_end;
  const ScriptStep good{events(chat_good)};
  const std::string call = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{";
  stream("a stream of a tool's arguments", "complete after 1 request",
         {{events(call + "\"name\":\"answer\",\"arguments\":\"hel\"}}]}}]}\n\n" + call +
                  "\"arguments\":\"lo\"}}]}}]}\n\n" + chat_stop + chat_end)}},
         "tools");
  const std::string part = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"";
  const std::string usage = R"("usage":{"input_tokens":100,"output_tokens":20})";
  stream("a stream of a response", "complete after 1 request",
         {{events(part + "hel\"}\n\n" + part + "lo\"}\n\n" +
                  "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"," +
                  usage + "}}\n\n")}},
         "responses");
  stream("a slow stream that is never silent for long", "complete after 1 request",
         {{events(""), Then::trickle, chat_good}});
  all.back().silence = 0.3;
  stream("a stream that falls silent", "deadline after 1 request",
         {{events(delta("hel")), Then::hang}});
  all.back().silence = 0.6;
  stream("a stream that stays open after its end", "complete after 1 request",
         {{events(chat_good), Then::hang}});
  stream("a stream with pings, comments and thinking", "complete after 1 request",
         {{events(message_good)}}, "messages");
  stream("a whole reply where a stream was asked for", "complete after 1 request",
         {{said("hello")}});
  stream("a stream cut within an event", "complete after 2 requests",
         {{events(delta("hel") + "data: {\"cho")}, good});
  stream("a stream that ends without a reason", "cut after 5 requests", {{events(delta("hel"))}});
  stream("a stream cut behind its reason to stop", "complete after 1 request",
         {{events(delta("hello") + chat_stop)}});
  stream(
      "an error event in a stream", "complete after 2 requests",
      {{events(
           message_start +
           "event: error\ndata: "
           "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"\"}}\n\n")},
       {events(message_good)}},
      "messages");
  stream("an event that is no JSON", "complete after 2 requests",
         {{events("data: hello\n\n")}, good});
  stream("an event of 5 MB", "too_large after 1 request",
         {{events("data: " + std::string(5u << 20, 'x'))}});
}

void add_connections(std::vector<Misbehaviour>& all, const ScriptedEndpoint& endpoint) {
  const ScriptStep good{said("hello")};
  all.push_back({"a body shorter than it says",
                 "complete after 2 requests",
                 {{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                   "500\r\n\r\n{\"choices\""},
                  good}});
  all.push_back({"a connection closed without a reply", "complete after 2 requests", {{""}, good}});
  all.push_back(
      {"a first line that is no HTTP", "complete after 2 requests", {{"hello\r\n\r\n"}, good}});
  all.push_back({"no one listens", "unreachable after 5 requests", {}});
  all.back().url = "http://127.0.0.1:1";
  all.push_back({"no TLS where https was asked for", "certificate after 1 request", {good}});
  all.back().url = endpoint.url("https");
  all.push_back({"a redirect",
                 "redirect after 1 request",
                 {{http(302, "Location: " + endpoint.url() + "/v1/other\r\n", "")}, good}});
  all.push_back({"a header of 10 MB in one line",
                 "too_large after 1 request",
                 {{"HTTP/1.1 200 OK\r\nX: " + std::string(10u << 20, 'x')}}});
  std::string lines = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 10000; ++i) lines += fmt::format("X-{}: {}\r\n", i, std::string(1000, 'x'));
  all.push_back(
      {"a header of 10 MB in many lines", "too_large after 1 request", {{lines + "\r\n"}}});
  all.push_back({"a header without end",
                 "too_large after 1 request",
                 {{"HTTP/1.1 200 OK\r\n", Then::repeat, "X: " + std::string(1000, 'x') + "\r\n"}}});
  all.push_back(
      {"a body of 17 MB", "too_large after 1 request", {{json(200, std::string(17u << 20, ' '))}}});
  const auto slow = [&](const char* name, ScriptStep step, bool stream) {
    all.push_back({name, "deadline after 1 request", {std::move(step)}});
    all.back().seconds = 0.25;
    all.back().stream = stream;
  };
  slow("silence", {"", Then::hang}, false);
  slow("a header that comes byte by byte", {"HTTP/1.1 200 OK\r\n", Then::drip, "X: y\r\n"}, false);
  slow("a body that comes byte by byte",
       {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", Then::drip, " "}, false);
  slow("a stream of comments without end", {events(""), Then::drip, ":\n"}, true);
}

}  // namespace

std::vector<Misbehaviour> misbehaviours(const ScriptedEndpoint& endpoint) {
  std::vector<Misbehaviour> all;
  all.push_back({"none, a whole reply", "complete after 1 request", {{said("hello")}}});
  all.push_back({"none, blocks of content",
                 "complete after 1 request",
                 {{messages(R"({"type":"thinking","thinking":"hm"},{"type":"text","text":"hello"})",
                            "end_turn")}},
                 "messages"});
  const std::string output =
      R"("output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text",)"
      R"("text":"hello"}]}],"usage":{"input_tokens":100,"output_tokens":20}})";
  all.push_back({"none, a whole response",
                 "complete after 1 request",
                 {{json(200, R"({"status":"completed","error":null,)" + output)}},
                 "responses"});
  all.push_back({"a response that is incomplete",
                 "cut after 2 requests",
                 {{json(200, R"({"status":"incomplete","incomplete_details":{"reason":)"
                             R"("max_output_tokens"},)" +
                                 output)}},
                 "responses"});
  all.push_back(
      {"a response that failed",
       "complete after 2 requests",
       {{json(200, R"({"status":"failed","error":{"code":"server_error","message":""},)" + output)},
        {json(200, R"({"status":"completed",)" + output)}},
       "responses"});
  add_limits(all);
  add_statuses(all);
  add_bodies(all);
  add_usage(all);
  add_streams(all);
  add_connections(all, endpoint);
  return all;
}

}  // namespace cupilot::testing
