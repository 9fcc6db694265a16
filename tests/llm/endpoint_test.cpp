// Every row of the table of misbehaviours, with three seeds each: the outcome that the
// documentation gives, within the budget.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/core.h>

#include <cupilot/parts/models.hpp>

#include "catch.hpp"
#include "llm/misbehaviours.hpp"
#include "support/virtual_clock.hpp"

using namespace cupilot;
using namespace cupilot::testing;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t most_tokens = 200'000;

ModelsConfig config_for(const Misbehaviour& row, const ScriptedEndpoint& endpoint) {
  ModelsConfig config;
  ModelEndpoint spec{.name = "scripted",
                     .url = row.url.empty() ? endpoint.url() : row.url,
                     .format = row.format,
                     .key = {"KEY", ""}};
  ModelSpec model{.name = "m",
                  .endpoint = "scripted",
                  .model = "m-1",
                  .output_tokens = 1000,
                  .seconds = row.silence,
                  .stream = row.stream,
                  .price = ModelPrice{1, 0.1, 10}};
  config.endpoints = {spec};
  config.models = {model};
  config.roles = {{"*", "m"}};
  config.budget = {.tokens = most_tokens, .calls = 20, .cost = 1, .seconds = 10'000};
  return config;
}

std::string outcome_of(const Result<ChatReply>& reply, std::size_t requests) {
  std::string kind;
  if (reply) {
    kind = name_of(reply->finish);
  } else {
    const std::size_t begin = reply.error().message.find("): ") + 3;
    kind = reply.error().message.substr(begin, reply.error().message.find(':', begin) - begin);
  }
  return fmt::format("{} after {} request{}", kind, requests, requests == 1 ? "" : "s");
}

// "5 requests sent" of an error, attempts of a reply: also of requests that reached nobody.
std::size_t requests_of(const Result<ChatReply>& reply) {
  if (reply) return static_cast<std::size_t>(reply->attempts);
  const std::string& text = reply.error().message;
  return std::stoul(text.substr(
      text.rfind("; ") == text.npos ? 0 : text.find_last_of("0123456789", text.rfind(" request"))));
}

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Setting {
  ScriptedEndpoint endpoint;
  VirtualClock clock;
  fs::path folder = fs::temp_directory_path() / fmt::format("cupilot-endpoint-{}", ::getpid());
  int count = 0;
  Setting() { fs::create_directories(folder); }
  ~Setting() { fs::remove_all(folder); }

  void play(const Misbehaviour& row, std::uint64_t seed) {
    const std::string tape = (folder / fmt::format("{}.jsonl", count++)).string();
    endpoint.play(row.steps, seed);
    ModelOptions options;
    options.tape = tape;
    options.environment = [](const std::string& name) {
      return name == "KEY" ? std::string(scripted_key) : std::string();
    };
    options.seed = seed;
    options.host = &clock;
    options.sleep = [&](double seconds) { clock.sleep(seconds); };
    auto client = open_models(config_for(row, endpoint), options);
    REQUIRE(client);
    ChatRequest ask{.agent = "writer",
                    .key = "k",
                    .messages = {{ChatMessage::Role::user, "say hello " + std::to_string(seed)}}};
    ask.schema = row.schema;
    ask.seconds = row.seconds;
    const double before = clock.slept();
    const auto began = std::chrono::steady_clock::now();
    const auto reply = (*client)->complete(ask);
    // A stream may last four times as long as it may be silent: its silence has to end it.
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (!reply && row.silence < 1) CHECK(took.count() < 3.5 * row.silence);
    if (!reply) UNSCOPED_INFO(reply.error().message);
    CHECK(outcome_of(reply, requests_of(reply)) == row.outcome);
    CHECK(clock.slept() - before >= row.least_wait);
    if (!reply) CHECK(reply.error().code == ErrorCode::endpoint);
    if (reply && reply->finish == ChatFinish::complete && row.schema.empty())
      CHECK(reply->text.rfind("hello", 0) == 0);
    if (reply && !row.schema.empty() && reply->finish == ChatFinish::complete)
      CHECK(reply->text == "{\"n\":1}");
    check_tape(row, tape, reply);
  }

  static void check_tape(const Misbehaviour& row, const std::string& tape,
                         const Result<ChatReply>& reply) {
    const auto contents = read_tape(tape);
    REQUIRE(contents);
    REQUIRE(contents->entries.size() == 1);
    CHECK(contents->spent.unsettled == 0);
    CHECK(contents->spent.tokens >= 0);
    CHECK(contents->spent.tokens <= most_tokens);
    CHECK(contents->spent.calls <= 20);
    CHECK(contents->spent.cost <= 1);
    if (reply && row.outcome == "complete after 1 request") {
      CHECK(reply->usage.input_tokens + reply->usage.output_tokens == contents->spent.tokens);
      CHECK(reply->usage.estimated ==
            (row.charges_reservation || row.name == "no usage" || row.name == "usage in words" ||
             row.name == "a stream cut behind its reason to stop"));
    }
    if (row.charges_reservation) CHECK(contents->spent.tokens > 1000);
    const std::string all = file_text(tape) + (reply ? reply->text : reply.error().message);
    CHECK(all.find("canary-Key") == all.npos);
  }
};

}  // namespace

TEST_CASE("each misbehaviour of an endpoint has its documented outcome and keeps to the budget",
          "[llm][threads]") {
  Setting setting;
  const auto rows = misbehaviours(setting.endpoint);
  CHECK(rows.size() >= 40);
  for (const Misbehaviour& row : rows) {
    for (std::uint64_t seed : {1, 2, 3}) {
      INFO(row.name << ", seed " << seed);
      setting.play(row, seed);
    }
  }
}

TEST_CASE("the documentation of endpoints holds every row of the misbehaviours", "[llm][threads]") {
  const ScriptedEndpoint endpoint;
  const std::string page = file_text(CUPILOT_SOURCE_DIR "/docs/formats/endpoint.md");
  for (const Misbehaviour& row : misbehaviours(endpoint)) {
    const std::string line = "| " + row.name + " | " + row.outcome + " |\n";
    INFO(line);
    CHECK(page.find(line) != page.npos);
  }
}
