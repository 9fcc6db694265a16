// A campaign: runs with thinking models, cut answers, faults and losses of power never spend more
// than their budget, by the endpoint's own bill.
#include <atomic>
#include <thread>

#include <fmt/core.h>

#include "catch.hpp"
#include "llm/open_models.hpp"
#include "support/sample.hpp"
#include "support/sim_host.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

constexpr const char* tape_path = "run/tape.jsonl";
constexpr ModelPrice price{3, 0.3, 15};

// Sums what an endpoint bills, whatever it tells.
struct Bill {
  std::int64_t tokens = 0, calls = 0;
  double cost = 0, seconds = 0;
};

HttpReply json_reply(int status, std::string body) {
  HttpReply reply;
  reply.status = status;
  reply.headers["content-type"] = "application/json";
  reply.body = std::move(body);
  return reply;
}

std::int64_t limit_of(const std::string& body) {
  const std::string name = "\"max_completion_tokens\":";
  return std::stoll(body.substr(body.find(name) + name.size(), 12));
}

// Answers, cuts, refuses, times out or lies, as the draw says; most of an answer is thinking.
class Endpoint {
 public:
  Endpoint(SimHost& host, Rng rng, Bill& bill) : host_(host), rng_(rng), bill_(bill) {}

  HttpReply carry(const HttpRequest& request) {
    const std::int64_t limit = limit_of(request.body);
    const auto input = static_cast<std::int64_t>(request.body.size()) / 4;
    const double seconds = std::min(request.seconds, rng_.unit() * 400);
    host_.spend(seconds);
    ++bill_.calls;
    bill_.seconds += seconds;
    const double drawn = rng_.unit();
    if (drawn < 0.08) return json_reply(500, R"({"error":{"message":"down"}})");
    if (drawn < 0.12) return json_reply(400, R"({"error":{"message":"no"}})");
    if (drawn < 0.16) return failed(EndpointFault::unreachable);
    const bool cut = drawn < 0.4;
    const std::int64_t output = cut ? limit : rng_.below(limit) + 1;
    charge(input, output);
    if (drawn < 0.2) return failed(EndpointFault::deadline);
    if (drawn < 0.24) return failed(EndpointFault::cut);
    const bool lies = rng_.chance(0.1);
    return json_reply(
        200,
        fmt::format(R"({{"choices":[{{"message":{{"content":"hello"}},"finish_reason":"{}"}}],)"
                    R"("usage":{{"prompt_tokens":{},"completion_tokens":{}}}}})",
                    cut ? "length" : "stop", lies ? -1 : input, lies ? 1 << 30 : output));
  }

 private:
  static HttpReply failed(EndpointFault fault) {
    HttpReply reply;
    reply.fault = fault;
    return reply;
  }
  void charge(std::int64_t input, std::int64_t output) {
    bill_.tokens += input + output;
    bill_.cost +=
        (static_cast<double>(input) * price.input + static_cast<double>(output) * price.output) /
        1e6;
  }
  SimHost& host_;
  Rng rng_;
  Bill& bill_;
};

ModelsConfig config_of(const ModelBudget& budget, Rng& rng) {
  ModelsConfig config;
  config.endpoints = {{.name = "e", .url = "https://models.example/v1"}};
  config.models = {{.name = "m",
                    .endpoint = "e",
                    .model = "thinker",
                    .output_tokens = 1000 + rng.below(30'000),
                    .seconds = 60 + rng.unit() * 900,
                    .stream = rng.chance(0.5),
                    .price = price}};
  config.roles = {{"*", "m"}};
  // Some runs let two models take turns, by gain or by stalls.
  if (rng.chance(0.6)) {
    ModelSpec other = config.models[0];
    other.name = "n";
    other.output_tokens = 500 + rng.below(60'000);
    config.models.push_back(std::move(other));
    config.roles = {{"*", rng.chance(0.5) ? "m | n" : "m > n"}};
  }
  config.budget = budget;
  return config;
}

// Asks until the budget or the questions end, through losses of power.
void play(std::uint64_t seed) {
  Rng rng = Rng::of(seed, "spend");
  ModelBudget budget;
  if (rng.chance(0.8)) budget.tokens = 5000 + rng.below(300'000);
  if (rng.chance(0.5)) budget.calls = 1 + rng.below(40);
  if (rng.chance(0.8)) budget.cost = 0.05 + rng.unit() * 3;
  if (rng.chance(0.5)) budget.seconds = 100 + rng.unit() * 5000;
  const ModelsConfig config = config_of(budget, rng);
  SimHost host(rng.fork(1));
  Bill bill;
  Endpoint endpoint(host, rng.fork(2), bill);
  ModelOptions options;
  options.tape = tape_path;
  options.host = &host;
  options.sleep = [&host](double seconds) { host.spend(seconds); };
  const std::int64_t questions = 4 + rng.below(20);
  for (int life = 0; life < 4; ++life) {
    if (life < 3) host.die_at(host.monotonic_seconds() + rng.unit() * 3000);
    REQUIRE(host.make_directories("run"));
    auto client = open_models_by(
        [&](const HttpRequest& request) { return endpoint.carry(request); }, config, options);
    for (std::int64_t i = 0; i < questions && client && !host.dead(); ++i) {
      ChatRequest ask{.agent = "writer", .key = fmt::format("slot {}/write/0", i)};
      ask.messages = {{ChatMessage::Role::user, std::string(200 + 37 * (i % 9), 'x')}};
      const auto reply = (*client)->complete(ask);
      if (reply) CHECK(reply->finish != ChatFinish::refused);
      (*client)->told({fmt::format("slot {}", i), i % 5 == 0 ? 0.1 : 0, true});
    }
    client = Error{ErrorCode::failure, "the power is lost", ""};
    host.start();
  }
  INFO("seed " << seed);
  CHECK((budget.tokens == 0 || bill.tokens <= budget.tokens));
  CHECK((budget.calls == 0 || bill.calls <= budget.calls));
  CHECK((budget.cost == 0 || bill.cost <= budget.cost * (1 + 1e-9)));
  CHECK((budget.seconds == 0 || bill.seconds <= budget.seconds * (1 + 1e-9)));
  // The tape may say more: of an exchange that a loss of power cut short it holds what was
  // reserved.
  const auto tape = read_tape(tape_path, &host);
  if (bill.calls == 0) return;
  REQUIRE(tape);
  CHECK(tape->spent.tokens >= bill.tokens);
  CHECK(tape->spent.calls >= bill.calls);
  CHECK(tape->spent.cost >= bill.cost * (1 - 1e-9));
  CHECK(tape->spent.reserved_tokens <= tape->spent.tokens);
}

}  // namespace

TEST_CASE("no run spends more than its budget, by the endpoint's own bill", "[llm]") {
  for (std::uint64_t seed = 0; seed < 120; ++seed) play(seed);
}

TEST_CASE("questions that are asked at once keep to one budget", "[llm][threads]") {
  for (int round = 0; round < 20; ++round) {
    ModelBudget budget;
    budget.tokens = 20'000 + 3000 * round;
    Rng rng = Rng::of(static_cast<std::uint64_t>(round), "parallel");
    ModelsConfig config = config_of(budget, rng);
    std::atomic<std::int64_t> billed{0};
    ModelOptions options;
    options.sleep = [](double) {};
    const auto client = open_models_by(
        [&](const HttpRequest& request) {
          const std::int64_t limit = limit_of(request.body);
          const auto input = static_cast<std::int64_t>(request.body.size()) / 4;
          billed += input + limit;
          return json_reply(
              200,
              fmt::format(R"({{"choices":[{{"message":{{"content":"hello"}},"finish_reason":)"
                          R"("stop"}}],"usage":{{"prompt_tokens":{},"completion_tokens":{}}}}})",
                          input, limit));
        },
        config, options);
    REQUIRE(client);
    std::vector<std::thread> askers;
    for (int thread = 0; thread < 4; ++thread) {
      askers.emplace_back([&, thread] {
        for (int i = 0; i < 12; ++i) {
          ChatRequest ask{.agent = "writer",
                          .key = fmt::format("slot {}/write/0", 12 * thread + i)};
          ask.messages = {{ChatMessage::Role::user, std::string(300, 'x')}};
          static_cast<void>((*client)->complete(ask));
          (*client)->told({fmt::format("slot {}", 12 * thread + i), i == 3 ? 0.2 : 0, true});
        }
      });
    }
    for (std::thread& asker : askers) asker.join();
    CHECK(billed <= budget.tokens);
  }
}

TEST_CASE("no run of 3000 spends more than its budget", "[.spend]") {
  const int runs = sampled(3000);
  for (int run = 0; run < runs; ++run) play(1000 + static_cast<std::uint64_t>(run));
}
