// The models file, keys, the budget, and giving up.
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/core.h>

#include <cupilot/parts/models.hpp>

#include "catch.hpp"
#include "llm/cost_budget.hpp"
#include "support/scripted_endpoint.hpp"
#include "support/virtual_clock.hpp"

using namespace cupilot;
using namespace cupilot::testing;
namespace fs = std::filesystem;

namespace {

const std::string good_file = R"({
  "endpoints": [{"name": "e", "url": "https://x.example/v1", "format": "messages", "key": {"env": "K"}}],
  "models": [{"name": "strong", "endpoint": "e", "model": "m", "price": {"input": 3, "output": 15}}],
  "roles": {"strategist": "strong", "*": "strong"},
  "budget": {"tokens": 1000, "cost": 2.5}
})";

std::string with(std::string from, const std::string& to) {
  std::string text = good_file;
  return text.replace(text.find(from), from.size(), to);
}

std::string reply(int output_tokens) {
  const std::string body = fmt::format(
      R"({{"choices":[{{"message":{{"content":"hello"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":10,"completion_tokens":{}}}}})",
      output_tokens);
  return fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
}

ModelsConfig local(const ScriptedEndpoint& endpoint) {
  ModelsConfig config;
  config.endpoints = {{.name = "e", .url = endpoint.url()}};
  config.models = {{.name = "m",
                    .endpoint = "e",
                    .model = "x",
                    .output_tokens = 100,
                    .stream = false,
                    .price = ModelPrice{1, 1, 1}}};
  config.roles = {{"*", "m"}};
  return config;
}

ChatRequest ask(const std::string& key) {
  return {.agent = "a", .key = key, .messages = {{ChatMessage::Role::user, "hi"}}};
}

}  // namespace

TEST_CASE("a models file is read whole or refused with its place", "[llm]") {
  const auto good = read_models(good_file, "models.json");
  REQUIRE(good);
  CHECK(good->endpoints[0].key.env == "K");
  CHECK(good->models[0].price->cached == 3);
  CHECK(good->roles.at("*") == "strong");
  CHECK(good->budget.cost == 2.5);
  CHECK(good->parallel == 0);
  CHECK(read_models(with("\"roles\"", "\"parallel\": 8, \"roles\""), "models.json")->parallel == 8);
  struct Bad {
    std::string text;
    const char* says;
  };
  const Bad bad[] = {
      {"{", "models.json"},
      {with("\"env\": \"K\"", "\"text\": \"sk-123456789\""), "endpoints[0].key"},
      {with("{\"env\": \"K\"}", "\"sk-123456789\""), "never stands in this file"},
      {with("{\"env\": \"K\"}", "{\"env\": \"K\", \"file\": \"f\"}"), "one of env and file"},
      {with("https://x.example", "http://x.example"), "in the open"},
      {with("https://x.example", "https://u:p@x.example"), "do not belong there"},
      {with("\"format\": \"messages\"", "\"format\": \"telex\""), "unknown format"},
      {with("\"format\": \"messages\"", "\"headers\": {\"Authorization\": \"Bearer x\"}"),
       "is not set here"},
      {with("\"format\": \"messages\"", "\"headers\": {\"X\": \"a\\r\\nb\"}"), "printable ASCII"},
      {with("\"format\": \"messages\"", "\"retry\": 3"), "retry"},
      {with("\"endpoint\": \"e\"", "\"endpoint\": \"f\""), "no endpoint is called"},
      {with("\"strategist\": \"strong\"", "\"strategist\": \"weak\""), "no model is called"},
      {with("\"strategist\": \"strong\"", "\"strategist\": \"strong,\""), "no model is called"},
      {with("\"strategist\": \"strong\"", "\"strategist\": \"strong > strong | strong\""),
       "two kinds of marks"},
      {with("\"format\": \"messages\"", "\"cache\": \"always\""), "endpoints[0].cache"},
      {with("\"endpoint\": \"e\"", "\"endpoint\": \"e\", \"seconds\": 0"), "models[0].seconds"},
      {with("\"endpoint\": \"e\"", "\"endpoint\": \"e\", \"thinking_tokens\": 20000"),
       "models[0].thinking_tokens"},
      {with(", \"price\": {\"input\": 3, \"output\": 15}", ""), "budget.cost cannot be kept"},
      {with("\"tokens\": 1000", "\"tokens\": -1"), "negative"},
      {with("\"input\": 3,", "\"input\": 1e308,"), "models[0].price.input"},
      {with("\"roles\": {\"strategist\": \"strong\", \"*\": \"strong\"}", "\"roles\": {}"),
       "name a model"},
      {with("\"roles\"", "\"parallel\": 257, \"roles\""), "parallel"},
      {with("\"roles\"", "\"parallel\": -1, \"roles\""), "0 to 256"},
  };
  for (const Bad& row : bad) {
    const auto read = read_models(row.text, "models.json");
    INFO(row.text);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::usage);
    INFO(read.error().message);
    CHECK((read.error().message + read.error().hint).find(row.says) != std::string::npos);
    CHECK(read.error().message.find("sk-123456789") == std::string::npos);
  }
}

TEST_CASE("a key comes from a variable or a private file, or the client does not open",
          "[llm][threads]") {
  const ScriptedEndpoint endpoint;
  const fs::path file = fs::temp_directory_path() / fmt::format("cupilot-key-{}", ::getpid());
  std::ofstream(file) << "0123456789abcdef\n";
  struct Row {
    KeySource source;
    std::string value;  // of the variable
    mode_t mode;
    const char* says;  // empty: opens
  };
  const Row rows[] = {
      {{"K", ""}, "0123456789", 0600, ""},
      {{"K", ""}, "", 0600, "not set"},
      {{"K", ""}, "short", 0600, "holds no key"},
      {{"K", ""}, "with blank inside", 0600, "holds no key"},
      {{"K", ""}, "with\r\nX-Header: 1", 0600, "holds no key"},
      {{"", file.string()}, "", 0600, ""},
      {{"", file.string()}, "", 0644, "can be read by others"},
      {{"", file.string() + ".none"}, "", 0600, "a key"},
  };
  for (const Row& row : rows) {
    ::chmod(file.c_str(), row.mode);
    ModelsConfig config = local(endpoint);
    config.endpoints[0].key = row.source;
    ModelOptions options;
    options.environment = [&](const std::string&) { return row.value; };
    const auto client = open_models(config, options);
    INFO(row.says);
    CHECK(static_cast<bool>(client) == std::string(row.says).empty());
    if (!client) CHECK(client.error().message.find(row.says) != std::string::npos);
    if (!client && !row.value.empty())
      CHECK(client.error().message.find(row.value) == std::string::npos);
  }
  fs::remove(file);
}

TEST_CASE("the budget is never exceeded, however many ask at once", "[llm][threads]") {
  ScriptedEndpoint endpoint;
  endpoint.play({{reply(100)}});
  ModelsConfig config = local(endpoint);
  config.budget = {.tokens = 3000, .calls = 1000};
  const auto client = open_models(config, {});
  REQUIRE(client);
  std::atomic<std::int64_t> tokens{0}, refused{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 12; ++i) {
        const auto answer = (*client)->complete(ask(fmt::format("{}/{}", thread, i)));
        if (answer) tokens += answer->usage.input_tokens + answer->usage.output_tokens;
        if (!answer && answer.error().code == ErrorCode::budget) ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(tokens <= 3000);
  CHECK(tokens > 2000);
  CHECK(refused > 0);
}

TEST_CASE("each limit of a budget holds, and what an earlier process spent counts", "[llm]") {
  struct Row {
    ModelBudget budget;
    ModelsSpent before;
    bool fits;
  };
  const ModelsSpent wanted{100, 1, 0.5, 10};
  const Row rows[] = {
      {{}, {1'000'000, 1000, 1000, 1e6}, true},
      {{.tokens = 100}, {}, true},
      {{.tokens = 100}, {.tokens = 1}, false},
      {{.calls = 2}, {.calls = 1}, true},
      {{.calls = 1}, {.calls = 1}, false},
      {{.cost = 0.5}, {}, true},
      {{.cost = 0.5}, {.cost = 0.01}, false},
      {{.seconds = 9}, {}, false},
      {{.tokens = INT64_MAX}, {.tokens = INT64_MAX - 50}, false},
  };
  for (const Row& row : rows) {
    CostBudget budget(row.budget, row.before, nullptr);
    CHECK(static_cast<bool>(budget.reserve("k", wanted)) == row.fits);
  }
  CostBudget budget({.tokens = 100}, {}, nullptr);
  REQUIRE(budget.reserve("k", wanted));
  CHECK_FALSE(budget.reserve("k", {101, 1, 0, 0}));
  budget.settle("k", wanted, {10, 1, 0.1, 1});
  CHECK_FALSE(budget.reserve("k", wanted));
  CHECK(budget.reserve("j", {90, 1, 0, 0}));
  CHECK(budget.bill("k").tokens == 10);
  CHECK(budget.bill("k").tokens == 0);
  CostBudget full({.tokens = 100}, {}, [](const std::string&, const ModelsSpent&) {
    return Result<void>(Error{ErrorCode::failure, "disk", ""});
  });
  CHECK_FALSE(full.reserve("k", wanted));
  CHECK(full.sum().tokens == 0);
}

TEST_CASE("a question is given up when its asker says so", "[llm][threads]") {
  ScriptedEndpoint endpoint;
  endpoint.play({{"", ScriptStep::Then::hang}});
  const auto client = open_models(local(endpoint), {});
  REQUIRE(client);
  std::atomic<bool> cancel{false};
  ChatRequest request = ask("k");
  request.cancel = &cancel;
  std::thread asker([&] {
    while (endpoint.requests().empty()) std::this_thread::yield();
    cancel = true;
  });
  const auto answer = (*client)->complete(request);
  asker.join();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().message.find("cancelled") != std::string::npos);
}

TEST_CASE("a proxy is asked for the endpoint, but not for this machine", "[llm][threads]") {
  ScriptedEndpoint proxy;
  proxy.play({{reply(5)}});
  ModelsConfig config = local(proxy);
  config.endpoints[0].url = "http://models.invalid:80";
  config.endpoints[0].proxy = proxy.url();
  auto client = open_models(config, {});
  REQUIRE(client);
  CHECK((*client)->complete(ask("k")));
  REQUIRE(proxy.requests().size() == 1);
  CHECK(proxy.requests()[0].rfind("POST http://models.invalid:80/v1/chat/completions", 0) == 0);
  config.endpoints[0].url = proxy.url();
  config.endpoints[0].proxy = "http://127.0.0.1:1";
  client = open_models(config, {});
  REQUIRE(client);
  CHECK((*client)->complete(ask("k")));
}

TEST_CASE("each agent is answered by its model", "[llm][threads]") {
  ScriptedEndpoint endpoint;
  endpoint.play({{reply(5)}});
  ModelsConfig config = local(endpoint);
  config.models.push_back(config.models[0]);
  config.models[1].name = "strong";
  config.models[1].model = "x-large";
  config.roles = {{"strategist", "strong"}, {"writer", "m"}};
  const auto client = open_models(config, {});
  REQUIRE(client);
  for (const char* agent : {"strategist", "writer"}) {
    ChatRequest request = ask(agent);
    request.agent = agent;
    REQUIRE((*client)->complete(request));
  }
  CHECK(endpoint.requests()[0].find("\"x-large\"") != std::string::npos);
  CHECK(endpoint.requests()[1].find("\"x\"") != std::string::npos);
  config.roles = {{"*", "m, strong"}};
  const auto both = open_models(config, {});
  REQUIRE(both);
  for (const char* key : {"slot 1/write/0", "slot 1/write/1"}) REQUIRE((*both)->complete(ask(key)));
  CHECK(endpoint.requests()[2].find("\"x\"") != std::string::npos);
  CHECK(endpoint.requests()[3].find("\"x-large\"") != std::string::npos);
  ChatRequest other = ask("other");
  other.agent = "poet";
  const auto none = (*client)->complete(other);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::usage);
}
