// Questions under way at once: how many, and one budget for all of them.
#include <atomic>
#include <chrono>
#include <thread>

#include <fmt/core.h>

#include "catch.hpp"
#include "llm/cost_budget.hpp"
#include "llm/open_models.hpp"

using namespace cupilot;

namespace {

ModelsConfig one_model(int parallel) {
  ModelsConfig config;
  config.endpoints = {{.name = "e", .url = "https://models.example/v1", .retries = 0}};
  config.models = {{.name = "m", .endpoint = "e", .model = "x", .stream = false}};
  config.roles = {{"*", "m"}};
  config.parallel = parallel;
  return config;
}

ChatRequest question(int number) {
  ChatRequest ask{.agent = "writer", .key = fmt::format("slot {}/write/0", number)};
  ask.messages = {{ChatMessage::Role::user, "hi"}};
  return ask;
}

HttpReply hello() {
  HttpReply reply;
  reply.status = 200;
  reply.headers["content-type"] = "application/json";
  reply.body =
      R"({"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":10}})";
  return reply;
}

// Counts the requests that are under way, and the most there were.
struct Counter {
  std::atomic<int> now{0}, most{0};
  HttpReply carry() {
    const int mine = ++now;
    for (int seen = most; seen < mine && !most.compare_exchange_weak(seen, mine);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --now;
    return hello();
  }
};

void ask_at_once(ChatClient& client, int threads, int each) {
  std::vector<std::thread> askers;
  for (int thread = 0; thread < threads; ++thread)
    askers.emplace_back([&client, thread, each] {
      for (int i = 0; i < each; ++i)
        static_cast<void>(client.complete(question(each * thread + i)));
    });
  for (std::thread& asker : askers) asker.join();
}

}  // namespace

TEST_CASE("no more questions are under way than the models file lets", "[llm][threads]") {
  struct Row {
    int parallel, least, most;
  };
  const Row rows[] = {{1, 1, 1}, {3, 2, 3}, {0, 4, 8}};
  for (const Row& row : rows) {
    INFO(row.parallel);
    Counter counter;
    const auto client = open_models_by([&](const HttpRequest&) { return counter.carry(); },
                                       one_model(row.parallel), {});
    REQUIRE(client);
    ask_at_once(**client, 8, 4);
    CHECK(counter.most >= row.least);
    CHECK(counter.most <= row.most);
  }
}

TEST_CASE("a question that waits for its turn is given up when its asker says so",
          "[llm][threads]") {
  std::atomic<bool> first_is_there{false}, first_may_go{false}, cancel{false};
  std::atomic<int> asked{0};
  const auto client = open_models_by(
      [&](const HttpRequest&) {
        const bool first = ++asked == 1;
        first_is_there = true;
        while (first && !first_may_go) std::this_thread::yield();
        return hello();
      },
      one_model(1), {});
  REQUIRE(client);
  std::thread first([&] { static_cast<void>((*client)->complete(question(0))); });
  while (!first_is_there) std::this_thread::yield();
  std::atomic<bool> answered{true};  // Catch's assertions are for one thread
  std::thread second([&] {
    ChatRequest ask = question(1);
    ask.cancel = &cancel;
    answered = static_cast<bool>((*client)->complete(ask));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  cancel = true;
  second.join();
  CHECK_FALSE(answered);
  first_may_go = true;
  first.join();
  CHECK(asked == 1);
}

TEST_CASE("a request waits for room that those under way give back", "[llm][threads]") {
  CostBudget budget({.tokens = 100}, {}, {});
  const ModelsSpent most{.tokens = 80}, used{.tokens = 10};
  REQUIRE(budget.reserve("a", most));
  std::atomic<bool> made{false};
  std::thread other([&] { made = static_cast<bool>(budget.reserve("b", most)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(made);
  CHECK(budget.sum().tokens == 80);
  budget.settle("a", most, used);
  other.join();
  CHECK(made);
  CHECK(budget.sum().tokens == 90);
  // It was given up meanwhile: nothing is set aside.
  budget.settle("b", most, used);
  CHECK_FALSE(budget.reserve("c", most, [] { return false; }));
  CHECK(budget.sum().tokens == 20);
  // A request that never fits is refused at once, whoever is under way.
  REQUIRE(budget.reserve("d", used));
  CHECK_FALSE(budget.reserve("e", {.tokens = 90}));
  budget.settle("d", used, used);
  CHECK_FALSE(budget.reserve("f", most));
}

TEST_CASE("seconds of a budget are shared by questions under way", "[llm][threads]") {
  ModelsConfig config = one_model(2);
  config.budget.seconds = 60;
  const auto client = open_models_by(
      [](const HttpRequest&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return hello();
      },
      config, {});
  REQUIRE(client);
  std::atomic<int> answered{0};
  std::vector<std::thread> askers;
  for (int thread = 0; thread < 2; ++thread)
    askers.emplace_back([&, thread] {
      for (int i = 0; i < 3; ++i) answered += (*client)->complete(question(3 * thread + i)) ? 1 : 0;
    });
  for (std::thread& asker : askers) asker.join();
  CHECK(answered == 6);
}

TEST_CASE("all questions of a budget that holds them are answered, at once or not",
          "[llm][threads]") {
  // Each sets 334 tokens aside and uses 20.
  for (const int parallel : {1, 4}) {
    ModelsConfig config = one_model(parallel);
    config.models[0].output_tokens = 60;
    config.budget.tokens = 16 * 20 + 340;
    const auto client = open_models_by(
        [](const HttpRequest&) {
          std::this_thread::sleep_for(std::chrono::milliseconds(3));
          return hello();
        },
        config, {});
    REQUIRE(client);
    std::atomic<int> answered{0};
    std::vector<std::thread> askers;
    for (int thread = 0; thread < 4; ++thread)
      askers.emplace_back([&, thread] {
        for (int i = 0; i < 4; ++i)
          answered += (*client)->complete(question(4 * thread + i)) ? 1 : 0;
      });
    for (std::thread& asker : askers) asker.join();
    CHECK(answered == 16);
  }
}
