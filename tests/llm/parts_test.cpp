// The small parts by themselves: waits, addresses, keys, schemas, wire formats.
#include <algorithm>
#include <cmath>

#include <openssl/evp.h>

#include "catch.hpp"
#include "llm/answer_schema.hpp"
#include "llm/circuit_breaker.hpp"
#include "llm/codec/event_stream.hpp"
#include "llm/codec/formats.hpp"
#include "llm/codec/wire_json.hpp"
#include "llm/pace.hpp"
#include "llm/secret.hpp"
#include "llm/url.hpp"

using namespace cupilot;

TEST_CASE("durations and dates are read as endpoints write them", "[llm]") {
  struct Row {
    const char* text;
    double seconds;  // -1: none
  };
  const Row rows[] = {{"12", 12},       {"1.5s", 1.5}, {"6m0s", 360}, {"20ms", 0.02},
                      {"1h2m3s", 3723}, {"", 0},       {"-3", -1},    {"soon", -1},
                      {"5x", -1},       {"s", -1},     {"1e9", -1},   {"nan", -1}};
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(duration_seconds(row.text).value_or(-1) == Approx(row.seconds));
  }
  CHECK(utc_seconds("2026-01-31T12:00:00Z") == 1769860800);
  CHECK(utc_seconds("Sat, 31 Jan 2026 12:00:00 GMT") == 1769860800);
  CHECK_FALSE(utc_seconds("tomorrow"));
  constexpr std::int64_t noon = 1769860800;
  CHECK(retry_after({{"retry-after", "Sat, 31 Jan 2026 12:00:30 GMT"}}, noon) == 30.0);
  CHECK(retry_after({{"retry-after", "9"}, {"retry-after-ms", "250"}}, noon) == 0.25);
  CHECK_FALSE(retry_after({{"retry-after", "-9"}}, noon));
  CHECK_FALSE(retry_after({{"retry-after", "later"}}, noon));
}

TEST_CASE("waits grow to a minute and are the same for one seed", "[llm]") {
  for (int failures = 1; failures < 40; ++failures) {
    Rng one = Rng::of(1, "x"), same = Rng::of(1, "x");
    const double whole = std::min(60.0, std::ldexp(0.5, std::min(failures - 1, 20)));
    const double wait = backoff_seconds(failures, one);
    CHECK(wait <= whole);
    CHECK(wait >= 0.75 * whole);
    CHECK(wait == backoff_seconds(failures, same));
  }
}

TEST_CASE("a pace holds requests and tokens to their minute", "[llm]") {
  Pace pace(60, 0);
  double now = 1000, last = 0;
  for (int i = 0; i < 40; ++i) last = pace.wait_for(now, 0, longest_wait);
  CHECK(last == Approx(30));  // ten at once, then one a second
  CHECK(pace.wait_for(now + 100, 0, longest_wait) == 0);
  Pace tokens(0, 6000);
  CHECK(tokens.wait_for(now, 1000, longest_wait) == 0);
  CHECK(tokens.wait_for(now, 500, longest_wait) == Approx(5));
  Pace told(0, 0);
  told.learn({{"anthropic-ratelimit-requests-remaining", "0"},
              {"anthropic-ratelimit-requests-reset", "2026-01-31T12:00:40Z"}},
             now, 1769860800);
  CHECK(told.wait_for(now, 0, longest_wait) == Approx(40));
  told.learn({{"x-ratelimit-remaining-tokens", "0"}, {"x-ratelimit-reset-tokens", "99h"}}, now, 0);
  CHECK(told.wait_for(now, 0, longest_wait) == Approx(longest_wait));
  Pace enough(0, 0);
  enough.learn({{"x-ratelimit-remaining-tokens", "5"}, {"x-ratelimit-reset-tokens", "1h"}}, now, 0);
  CHECK(enough.wait_for(now, 0, longest_wait) == 0);
}

TEST_CASE("a wait that nobody sits out takes no room", "[llm]") {
  struct Row {
    double requests, tokens;  // a minute
    double every;             // seconds between two rounds
    int at_once;
    double least_sent;  // of what the limits allow in eight hours
  };
  // A request each 150 s, longer than any wait; twelve wanted for each that may go; tokens of one
  // request each 150 s.
  const Row rows[] = {{0.4, 0, 5, 1, 0.95}, {2, 0, 60, 6, 0.95}, {0, 40, 5, 1, 0.95}};
  constexpr double night = 8 * 3600;
  for (const Row& row : rows) {
    Pace pace(row.requests, row.tokens);
    int sent = 0;
    for (double t = 0; t < night; t += row.every) {
      for (int i = 0; i < row.at_once; ++i)
        sent += pace.wait_for(1 + t, 100, longest_wait) < longest_wait;
    }
    const double allowed =
        night / 60 * (row.requests > 0 ? row.requests : row.tokens / std::max(row.tokens / 6, 1.0));
    CAPTURE(row.requests, row.tokens, sent, allowed);
    CHECK(sent >= row.least_sent * allowed);
    CHECK(sent <= allowed * (1 + longest_wait / night) + 1);  // the last ones are still waiting
  }
}

TEST_CASE("addresses are strict and keep to one form", "[llm]") {
  const auto url = parse_url("https://a-b.example.com:8443/api/");
  REQUIRE(url);
  CHECK(url->tls);
  CHECK(url->host == "a-b.example.com");
  CHECK(url->port == 8443);
  CHECK(url->path == "/api");
  for (const char* bad : {"", "example.com", "ftp://x", "https://", "https://user:secret@x",
                          "https://x:0", "https://x:70000", "https://x:y", "https://x/a?b",
                          "https://x/a b", "https://x y", "https://x\r\nA: b", "https://[::1]"}) {
    INFO(bad);
    const auto wrong = parse_url(bad);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().message.find("secret") == std::string::npos);
  }
  CHECK(endpoint_path("", "/messages") == "/v1/messages");
  CHECK(endpoint_path("/v1", "/messages") == "/v1/messages");
  CHECK(endpoint_path("/api/v2", "/messages") == "/api/v2/messages");
  CHECK(endpoint_path("/x/messages", "/messages") == "/x/messages");
  struct Row {
    const char *list, *host;
    bool listed;
  };
  const Row rows[] = {{"*", "x", true},       {".b.c", "a.b.c", true}, {"b.c", "a.b.c", true},
                      {"b.c", "ab.c", false}, {"x, y:80", "y", true},  {"y:81", "y", false},
                      {"", "y", false},       {"b.c", "b.c", true}};
  for (const Row& row : rows) {
    INFO(row.list << " " << row.host);
    CHECK(listed_in(row.list, row.host, 80) == row.listed);
  }
}

namespace {

std::string base64(const std::string& text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  out.resize(static_cast<std::size_t>(EVP_EncodeBlock(
      reinterpret_cast<unsigned char*>(out.data()),
      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()))));
  return out;
}

}  // namespace

TEST_CASE("a key is scrubbed in every writing", "[llm]") {
  const std::string key = "sk-Abc/12+34=\"56";
  const Secret secret{std::string(key)};
  const std::string writings[] = {
      key,
      std::string(key.rbegin(), key.rend()),
      "sk-Abc%2F12%2B34%3D%2256",
      "sk-Abc%2f12%2b34%3d%2256",
      "sk-Abc/12+34=\\\"56",
      "sk-Abc/12%2B34=%22\\u0035\\x36",
      "SK-ABC%2f12+34=\"56",
      "736b2d4162632f31322b33343d223536",
      "736B2D4162632F31322B33343D223536",
  };
  for (const std::string& writing : writings) {
    INFO(writing);
    CHECK(secret.scrub("<" + writing + ">") == "<[key]>");
  }
  for (const char* before : {"", "a", "ab", "Bearer "}) {
    const std::string hidden = base64(before + key + " tail");
    const std::string clean = secret.scrub(hidden);
    INFO(hidden);
    CHECK(clean.find("[key]") != clean.npos);
    CHECK(clean.size() < hidden.size());
  }
  CHECK(secret.scrub("nothing to hide") == "nothing to hide");
  CHECK(Secret().scrub("as it is") == "as it is");
}

TEST_CASE("an answer is held to its schema", "[llm]") {
  const auto schema = AnswerSchema::from(
      R"({"type":"object","properties":{"n":{"type":"integer","minimum":1},"s":{"enum":["a","b"]}},"required":["n"],"additionalProperties":false})");
  REQUIRE(schema);
  struct Row {
    const char* text;
    bool fits;
  };
  const Row rows[] = {{R"({"n":3})", true},
                      {R"(Sure! ```json {"n":3,"s":"a"} ``` done)", true},
                      {R"({"n":3} {"n":"x"})", true},
                      {R"({"n":"}{"} {"n":3})", false},
                      {R"({"n":0})", false},
                      {R"({"n":3,"m":1})", false},
                      {R"({"n":3,"s":"c"})", false},
                      {R"({"n":3.5})", false},
                      {"no object", false},
                      {"{{{{{{{{{{", false},
                      {"", false}};
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(schema->check(row.text).wrong.empty() == row.fits);
  }
  CHECK(schema->check(std::string(100000, '{')).wrong == "the answer holds no JSON object");
  for (const char* bad : {"", "[]", "{", "7"}) CHECK_FALSE(AnswerSchema::from(bad));
}

TEST_CASE("requests are written as each format wants them", "[llm]") {
  ChatRequest ask{
      .agent = "a",
      .key = "k",
      .messages = {{ChatMessage::Role::system, "rules"}, {ChatMessage::Role::user, "ask"}},
      .constant_messages = 1};
  ask.schema = R"({"type":"object"})";
  const ModelSpec model{.name = "m", .endpoint = "e", .model = "x-1"};
  const WireRequest request{ask, model, 100, {}};
  const WireJson chat = parse_wire(find_codec("chat")->encode(request));
  CHECK(chat["model"] == "x-1");
  CHECK(chat["messages"][0]["role"] == "system");
  CHECK(chat["max_completion_tokens"] == 100);
  CHECK(chat["response_format"]["json_schema"]["schema"]["type"] == "object");
  CHECK(chat["stream_options"]["include_usage"] == true);
  CHECK_FALSE(chat.contains("temperature"));
  const WireJson messages = parse_wire(find_codec("messages")->encode(request));
  CHECK(messages["system"][0]["text"] == "rules");
  CHECK(messages["system"][0]["cache_control"]["type"] == "ephemeral");
  CHECK(messages["messages"][0]["role"] == "user");
  CHECK_FALSE(messages["messages"][0]["content"][0].contains("cache_control"));
  CHECK(messages["max_tokens"] == 100);
  CHECK(messages["output_config"]["format"]["schema"]["type"] == "object");

  // Thinking: as the file says, and not where an endpoint refused it.
  ModelSpec thinking = model;
  thinking.effort = "high";
  thinking.thinking_tokens = 2000;
  for (const bool unwanted : {false, true}) {
    Unwanted not_these;
    not_these.thinking = unwanted;
    const auto sent = [&](const char* format) {
      return parse_wire(find_codec(format)->encode({ask, thinking, 9000, not_these}));
    };
    INFO(unwanted);
    CHECK(sent("chat").value("reasoning_effort", "") == (unwanted ? "" : "high"));
    CHECK(sent("responses").contains("reasoning") == !unwanted);
    CHECK(sent("messages").contains("thinking") == !unwanted);
    CHECK(sent("messages")["output_config"].contains("effort") == !unwanted);
    if (unwanted) continue;
    CHECK(sent("responses")["reasoning"]["effort"] == "high");
    CHECK(sent("messages")["thinking"]["budget_tokens"] == 2000);
    CHECK(sent("messages")["output_config"]["effort"] == "high");
  }
  CHECK_FALSE(chat.contains("reasoning_effort"));
  CHECK_FALSE(messages.contains("thinking"));

  ModelSpec sampling = model;
  sampling.sampling = true;
  sampling.stream = false;
  const WireRequest plain{ask, sampling, 100, {false, true, true, true}};
  const WireJson older = parse_wire(find_codec("chat")->encode(plain));
  CHECK(older["max_tokens"] == 100);
  CHECK(older.contains("temperature"));
  CHECK_FALSE(older.contains("response_format"));
  CHECK_FALSE(older.contains("stream"));
  CHECK(find_codec("other") == nullptr);
}

TEST_CASE("what stays the same is marked as the endpoint's provider wants it", "[llm]") {
  ChatRequest ask{
      .agent = "a",
      .key = "k",
      .messages = {{ChatMessage::Role::system, "rules"}, {ChatMessage::Role::user, "ask"}},
      .constant_messages = 1};
  const ModelSpec model{.name = "m", .endpoint = "e", .model = "x-1"};
  struct Row {
    const char* format;
    const char* cache;
    bool unwanted, marks, key;
  };
  const Row rows[] = {
      {"chat", "", false, false, false},         {"chat", "marks", false, true, false},
      {"chat", "key", false, false, true},       {"chat", "key", true, false, false},
      {"tools", "marks", false, true, false},    {"tools", "marks", true, false, false},
      {"responses", "", false, false, false},    {"responses", "key", false, false, true},
      {"messages", "", false, true, false},      {"messages", "marks", false, true, false},
      {"messages", "none", false, false, false}, {"messages", "", true, false, false}};
  for (const Row& row : rows) {
    INFO(row.format << " " << row.cache);
    WireRequest request{ask, model, 100, {}, row.cache};
    request.unwanted.cache = row.unwanted;
    const std::string body = find_codec(row.format)->encode(request);
    CHECK((body.find("cache_control") != std::string::npos) == row.marks);
    CHECK((body.find("prompt_cache_key") != std::string::npos) == row.key);
  }
  const std::string key = prefix_key(ask);
  ask.messages[1].text = "another question";
  CHECK(prefix_key(ask) == key);
  ask.messages[0].text = "another head";
  CHECK(prefix_key(ask) != key);
  ask.constant_messages = 0;
  CHECK(prefix_key(ask).empty());
  Unwanted unwanted;
  CHECK(learn_unwanted({"", "", "Unknown parameter: 'prompt_cache_key'"}, unwanted));
  CHECK(unwanted.cache);
}

TEST_CASE("events are the same however their bytes come", "[llm]") {
  const std::string text =
      ": note\r\nevent: a\r\ndata: one\r\ndata: two\r\n\r\ndata:three\n\n\nid: 7\n\ndata: four\r\r";
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    EventSplitter splitter;
    std::string seen;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      splitter.feed(std::string_view(text).substr(at, piece), [&](const StreamEvent& event) {
        seen += "[" + event.name + "|" + event.data + "]";
        return true;
      });
    }
    INFO(piece);
    CHECK(seen == "[a|one\ntwo][|three][|four]");
  }
}

TEST_CASE("an endpoint that fails again and again is left alone, then tried by one", "[llm]") {
  CircuitBreaker breaker;
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(breaker.admit(0));
    breaker.settle(true, 0);
  }
  CHECK(breaker.admit(10).value_or(0) == Approx(20));
  CHECK_FALSE(breaker.admit(30));
  CHECK(breaker.admit(30));  // while one tries
  breaker.settle(true, 31);
  CHECK(breaker.admit(60).value_or(0) == Approx(31));
  CHECK_FALSE(breaker.admit(92));
  breaker.leave();  // it was cancelled: another one tries
  CHECK_FALSE(breaker.admit(92));
  breaker.settle(false, 93);
  for (int i = 0; i < 5; ++i) CHECK_FALSE(breaker.admit(93));
}

TEST_CASE("a schema is sent without limits of lengths and counts, names of properties kept",
          "[llm]") {
  CHECK(schema_for_hosts(
            R"({"type":"object","properties":{"format":{"type":"string","maxLength":5},)"
            R"("list":{"type":"array","minItems":1,"maxItems":2,"items":{"minimum":1}}}})") ==
        R"({"type":"object","properties":{"format":{"type":"string"},)"
        R"("list":{"type":"array","items":{}}}})");
}

TEST_CASE("what does not fit a schema is told by its place and the nearest word", "[llm]") {
  const auto schema = AnswerSchema::from(
      R"({"type":"object","required":["uses"],"additionalProperties":false,"properties":{"uses":)"
      R"({"type":"array","items":{"type":"object","required":["name"],"properties":{"name":)"
      R"({"type":"string","enum":["vector_load","unroll"]}}}}}})");
  REQUIRE(schema);
  struct Row {
    const char *answer, *says;
  };
  const Row rows[] = {
      {R"({"uses":[{"name":"unroll"},{"name":"vectorized_load"}]})",
       "uses[1].name is \"vectorized_load\", which is not allowed; nearest: vector_load"},
      {R"({"uses":[{"name":"zzzzzzzzzzzz"}]})", "uses[0].name is \"zzzzzzzzzzzz\""},
      {R"({"uses":[{}]})", "uses[0]"},
      {"no", "no JSON object"},
  };
  for (const Row& row : rows) {
    const auto checked = schema->check(row.answer);
    INFO(checked.wrong);
    CHECK(checked.wrong.find(row.says) != std::string::npos);
    CHECK(checked.wrong.find("associated with") == std::string::npos);
  }
}
