// What a client says while it waits, and why it gives up.
#include <filesystem>

#include <fmt/core.h>

#include <cupilot/parts/models.hpp>

#include "catch.hpp"
#include "llm/open_models.hpp"
#include "support/virtual_clock.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

struct Asked {
  VirtualClock clock;
  ModelsConfig config;
  std::vector<HttpReply> replies;            // in turn; the last one is repeated
  double seconds = 0;                        // that a request takes
  std::vector<std::string> notices, limits;  // of each request
  std::size_t sent = 0;
  std::unique_ptr<ChatClient> client;

  Asked() {
    config.endpoints = {{.name = "e", .url = "http://127.0.0.1:9", .retries = 4}};
    config.models = {{.name = "m", .endpoint = "e", .model = "m-1", .price = ModelPrice{1, 1, 10}}};
    config.roles = {{"*", "m"}};
  }
  Result<ChatReply> ask(double most = 0) {
    if (!client) {
      ModelOptions options;
      options.host = &clock;
      options.sleep = [this](double wait) { clock.sleep(wait); };
      options.notice = [this](const std::string& notice) { notices.push_back(notice); };
      auto opened = open_models_by([this](const HttpRequest& request) { return carry(request); },
                                   config, options);
      REQUIRE(opened);
      client = std::move(*opened);
    }
    ChatRequest request{.agent = "writer", .key = fmt::format("slot {}/write/0", sent)};
    request.messages = {{ChatMessage::Role::user, "write"}};
    request.seconds = most;
    return client->complete(request);
  }
  HttpReply carry(const HttpRequest& request) {
    const std::string name = "\"max_completion_tokens\":";
    const std::size_t at = request.body.find(name) + name.size();
    limits.push_back(request.body.substr(at, request.body.find_first_of(",}", at) - at));
    clock.sleep(std::min(seconds, request.seconds));
    const HttpReply reply = replies[std::min(sent++, replies.size() - 1)];
    if (seconds <= request.seconds) return reply;
    HttpReply late;
    late.fault = EndpointFault::deadline;
    return late;
  }
};

HttpReply json(int status, const std::string& body,
               const std::map<std::string, std::string>& more = {}) {
  HttpReply reply;
  reply.status = status;
  reply.headers = more;
  reply.headers["content-type"] = "application/json";
  reply.body = body;
  return reply;
}

HttpReply good() {
  return json(200, R"({"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],)"
                   R"("usage":{"prompt_tokens":10,"completion_tokens":5}})");
}

HttpReply cut() {
  return json(200, R"({"choices":[{"message":{"content":"hel"},"finish_reason":"length"}],)"
                   R"("usage":{"prompt_tokens":10,"completion_tokens":5}})");
}

}  // namespace

TEST_CASE("a model whose answer needed twice the limit has it at once from then on", "[llm]") {
  using Limits = std::vector<std::string>;
  Asked asked;
  asked.config.models[0].output_tokens = 1000;
  asked.replies = {cut(), good(), good(), cut(), good()};
  for (int question = 0; question < 3; ++question) REQUIRE(asked.ask());
  // The third was cut at twice the limit: nothing longer is asked for.
  CHECK(asked.limits == Limits{"1000", "2000", "2000", "2000"});
  CHECK(asked.notices.size() == 1);
  // Twice the limit did not help: questions begin as before.
  Asked thinking;
  thinking.config.models[0].output_tokens = 1000;
  thinking.replies = {cut()};
  for (int question = 0; question < 2; ++question) REQUIRE(thinking.ask());
  CHECK(thinking.limits == Limits{"1000", "2000", "1000", "2000"});
  // A budget that does not hold twice the limit may hold the usual one.
  Asked poor;
  poor.config.models[0].output_tokens = 1000;
  poor.replies = {cut(), good()};
  poor.config.budget.tokens = 3000;
  for (int question = 0; question < 2; ++question) REQUIRE(poor.ask());
  CHECK(poor.limits == Limits{"1000", "2000", "2000"});
  poor.config.budget.tokens = 2300;
  poor.client.reset();
  poor.sent = 0;
  poor.limits.clear();
  for (int question = 0; question < 3; ++question) REQUIRE(poor.ask());
  CHECK(poor.limits.front() == "1000");
  CHECK(poor.limits.back() == "1000");
}

TEST_CASE("requests that are repeated for more than two seconds are told with the reason",
          "[llm]") {
  const HttpReply limited =
                      json(429, R"({"error":{"message":"slow down"}})", {{"retry-after", "3"}}),
                  failing = json(500, R"({"error":{"message":"boom"}})");
  Asked asked;
  asked.replies = {limited, limited, failing, good(), failing, good(), limited, good()};
  REQUIRE(asked.ask());
  // One word a fault, whatever the number of requests; the last one of them came in time.
  REQUIRE(asked.notices.size() == 2);
  CHECK(asked.notices[0] ==
        "endpoint e (model m-1): rate_limit: too many requests (status 429 slow down); 1 request "
        "sent; the next one in 3 s, 4 at most: set requests_per_minute or tokens_per_minute");
  CHECK(asked.notices[1].find("server: the server failed (status 500 boom)") != std::string::npos);
  REQUIRE(asked.ask());
  CHECK(asked.notices.size() == 2);  // half a second is waited without a word
  REQUIRE(asked.ask());
  CHECK(asked.notices.size() == 3);  // the model had answered in between
}

TEST_CASE("an exchange that its asker's time ended does not blame the endpoint", "[llm]") {
  for (const double most : {0., 5.}) {
    Asked asked;
    asked.replies = {good()};
    asked.seconds = 4000;
    const auto reply = asked.ask(most);
    REQUIRE_FALSE(reply);
    CHECK((reply.error().hint.find("allow more") != std::string::npos) == (most > 0));
    CHECK((reply.error().hint.find("raise seconds of the model") != std::string::npos) ==
          (most == 0));
  }
}

TEST_CASE("a budget that is spent is named, with numbers that can be read", "[llm]") {
  Asked asked;
  asked.replies = {good()};
  asked.seconds = 4;
  asked.config.budget = {.seconds = 6};
  REQUIRE(asked.ask());
  REQUIRE_FALSE(asked.ask());  // two seconds are not enough
  const auto spent = asked.ask();
  REQUIRE_FALSE(spent);
  CHECK(spent.error().code == ErrorCode::budget);
  CHECK(spent.error().message == "the models' budget (seconds 6) is spent");
  CHECK(spent.error().hint == "raise budget.seconds in the models file");

  Asked poor;
  poor.config.budget = {.cost = 0.1};
  poor.replies = {good()};
  const auto reply = poor.ask();
  REQUIRE_FALSE(reply);
  CHECK(reply.error().message ==
        "the models' budget (cost 0.1) does not fit the next request: 0 spent or reserved, it may "
        "need 0.1641");
}
