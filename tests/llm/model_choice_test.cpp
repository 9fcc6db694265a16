// Roles with several models: who is asked, what is learnt, and that a resumed run knows it.
#include <fmt/core.h>

#include "catch.hpp"
#include "llm/model_choice.hpp"
#include "llm/open_models.hpp"
#include "support/sim_host.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

ChatRequest question(int slot, const char* what = "write", int attempt = 0) {
  return {.agent = what == std::string("strategy") ? "strategist" : "generator",
          .key = fmt::format("slot {}/{}/{}", slot, what, attempt)};
}

ChatUsage costing(double cost) {
  ChatUsage usage;
  usage.output_tokens = 1000;
  usage.cost = cost;
  return usage;
}

ModelChoice choice(const std::string& role) { return ModelChoice(*role_models(role)); }

// Plays a run in which each model has a cost and a gain; counts who was asked.
std::map<std::string, int> play(ModelChoice& models, const std::map<std::string, double>& costs,
                                const std::map<std::string, double>& gains, int slots) {
  std::map<std::string, int> asked;
  for (int slot = 0; slot < slots; ++slot) {
    const ChatRequest ask = question(slot);
    const std::string name = models.choose(ask).front();
    ++asked[name];
    const ChatUsage usage = costing(costs.at(name));
    models.answered(ask.agent, ask.key, name, &usage);
    models.told({fmt::format("slot {}", slot), gains.at(name), true});
  }
  return asked;
}

}  // namespace

TEST_CASE("a role names its models with one kind of mark", "[llm]") {
  struct Row {
    std::string text;
    RoleRule rule;
    std::vector<std::string> names;
  };
  const Row rows[] = {{"a", RoleRule::first, {"a"}},
                      {"a, b", RoleRule::first, {"a", "b"}},
                      {" a >b", RoleRule::ladder, {"a", "b"}},
                      {"a | b | c", RoleRule::gain, {"a", "b", "c"}},
                      {"a,", RoleRule::first, {"a", ""}}};
  for (const Row& row : rows) {
    INFO(row.text);
    const auto read = role_models(row.text);
    REQUIRE(read);
    CHECK(read->rule == row.rule);
    CHECK(read->names == row.names);
  }
  CHECK_FALSE(role_models("a, b | c"));
  CHECK_FALSE(role_models("a > b, c"));
}

TEST_CASE("models that take turns are asked by their gain for the same money", "[llm]") {
  struct Row {
    double cost_a, cost_b, gain_a, gain_b;
    const char* most;
  };
  const Row rows[] = {{1, 1, 0.3, 0, "a"},   {1, 1, 0, 0.3, "b"},    {1, 4, 0.1, 0.1, "a"},
                      {4, 1, 0.1, 0.1, "b"}, {1, 4, 0.02, 0.4, "b"}, {0, 0, 0.3, 0, "a"}};
  for (const Row& row : rows) {
    INFO(row.cost_a << " " << row.cost_b << " " << row.gain_a << " " << row.gain_b);
    ModelChoice models = choice("a | b");
    auto asked = play(models, {{"a", row.cost_a}, {"b", row.cost_b}},
                      {{"a", row.gain_a}, {"b", row.gain_b}}, 60);
    const std::string other = row.most == std::string("a") ? "b" : "a";
    CHECK(2 * asked[row.most] > 3 * asked[other]);
    CHECK(asked[other] >= 2);
  }
}

TEST_CASE("questions that are open at once go to different models", "[llm]") {
  ModelChoice models = choice("a | b | c");
  std::set<std::string> names;
  for (int slot = 0; slot < 3; ++slot) names.insert(models.choose(question(slot)).front());
  CHECK(names.size() == 3);
}

TEST_CASE("a strong model follows a cheap one that brings nothing, until a gain", "[llm]") {
  ModelChoice models = choice("cheap > strong");
  const auto next = [&](int slot, double gain) {
    const ChatRequest ask = question(slot);
    const std::string name = models.choose(ask).front();
    models.answered(ask.agent, ask.key, name, nullptr);
    models.told({fmt::format("slot {}", slot), gain, true});
    return name;
  };
  for (int slot = 0; slot < 6; ++slot) CHECK(next(slot, slot == 3 ? 0.1 : 0) == "cheap");
  for (int slot = 6; slot < 10; ++slot) CHECK(next(slot, 0) == "cheap");
  for (int slot = 10; slot < 20; ++slot) CHECK(next(slot, slot == 19 ? 0.2 : 0) == "strong");
  CHECK(next(20, 0) == "cheap");
  // An unreadable answer of the cheap one goes up at once.
  CHECK(models.choose(question(21, "write", 1)).front() == "strong");
  // Candidates that no model of the role had a part in say nothing of it.
  for (int slot = 100; slot < 120; ++slot) models.told({fmt::format("slot {}", slot), 0, false});
  CHECK(models.choose(question(120)).front() == "cheap");
}

TEST_CASE("a strategy that waited for its slot is its strategist's gain", "[llm]") {
  ModelChoice models = choice("a | b");
  const ChatUsage usage = costing(1);
  for (int slot = 0; slot < 4; ++slot) {
    const ChatRequest ask = question(4 * slot, "strategy");
    const std::string name = models.choose(ask).front();
    models.answered(ask.agent, ask.key, name, &usage);
    // Slot 4 n + 2 has no question of its own.
    models.told({fmt::format("slot {}", 4 * slot + 2), name == "b" ? 0.5 : 0, true});
  }
  CHECK(models.choose(question(40, "strategy")).front() == "b");
}

TEST_CASE("of questions asked at once each strategist has a part in the gain", "[llm]") {
  ModelChoice models = choice("a | b | c");
  const ChatUsage usage = costing(1);
  for (int slot = 0; slot < 4; ++slot) {
    for (const char* name : {"a", "b", "c"}) {
      const ChatRequest ask = question(4 * slot, name == std::string("c") ? "write" : "strategy");
      models.answered(ask.agent, ask.key, name, &usage);
    }
    models.told({fmt::format("slot {}", 4 * slot + 2), 0.5, true});
  }
  std::set<std::string> next;
  for (int slot = 40; slot < 42; ++slot) next.insert(models.choose(question(slot)).front());
  CHECK(next == std::set<std::string>{"a", "b"});
}

TEST_CASE("the first models of a comma never take turns", "[llm]") {
  ModelChoice models = choice("a, b");
  CHECK_FALSE(models.takes_turns());
  for (int slot = 0; slot < 20; ++slot) {
    CHECK(models.choose(question(slot)) == std::vector<std::string>{"a"});
    models.answered("generator", question(slot).key, "a", nullptr);
    models.told({fmt::format("slot {}", slot), 0, true});
  }
  CHECK(models.choose(question(3, "write", 1)) == std::vector<std::string>{"b"});
}

namespace {

ModelsConfig two_models() {
  ModelsConfig config;
  for (const char* name : {"a", "b"}) {
    config.endpoints.push_back(
        {.name = name, .url = fmt::format("https://{}.example/v1", name), .retries = 0});
    config.models.push_back({.name = name, .endpoint = name, .model = name, .stream = false});
  }
  config.roles = {{"*", "a | b"}};
  return config;
}

HttpReply hello() {
  HttpReply reply;
  reply.status = 200;
  reply.headers["content-type"] = "application/json";
  reply.body =
      R"({"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":10}})";
  return reply;
}

}  // namespace

TEST_CASE("another model answers for one that does not, and a resumed run knows who did", "[llm]") {
  SimHost host(Rng::of(1, "choice"));
  REQUIRE(host.make_directories("run"));
  ModelOptions options;
  options.tape = "run/tape.jsonl";
  options.host = &host;
  options.sleep = [&host](double seconds) { host.spend(seconds); };
  bool a_is_dead = true;
  std::map<std::string, int> asked;
  const auto carry = [&](const HttpRequest& request) {
    ++asked[request.host];
    if (!a_is_dead || request.host != "a.example") return hello();
    HttpReply dead;
    dead.fault = EndpointFault::unreachable;
    return dead;
  };
  {
    auto client = open_models_by(carry, two_models(), options);
    REQUIRE(client);
    for (int slot = 0; slot < 6; ++slot) {
      ChatRequest ask = question(slot);
      ask.messages = {{ChatMessage::Role::user, "hi"}};
      const auto reply = (*client)->complete(ask);
      REQUIRE(reply);
      CHECK(reply->by == "b");
      (*client)->told({fmt::format("slot {}", slot), 0.5, true});
    }
  }
  const auto tape = read_tape("run/tape.jsonl", &host);
  REQUIRE(tape);
  for (const TapeEntry& entry : tape->entries) CHECK(entry.reply.by == "b");
  // b is known by its answers: a is asked first, twice.
  asked.clear();
  a_is_dead = false;
  auto client = open_models_by(carry, two_models(), options);
  REQUIRE(client);
  for (int slot = 6; slot < 8; ++slot) {
    ChatRequest ask = question(slot);
    ask.messages = {{ChatMessage::Role::user, "hi"}};
    REQUIRE((*client)->complete(ask));
  }
  CHECK(asked["a.example"] == 2);
}
