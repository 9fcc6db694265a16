// A search for a product whose strategies and kernels a model wrote: its tape answers the same
// search again, and its directory repeats it without device or model.
#include <cupilot/evolve.hpp>
#include <cupilot/parts/models.hpp>
#include <cupilot/parts/run_report.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "evolution/support.hpp"
#include "llm/open_models.hpp"
#include "support/gemm.hpp"
#include "support/kept_images.hpp"

using namespace cupilot;

namespace {

constexpr const char* kernel = R"~(```cuda
// cupilot: {{"plan":{{"launches":[{{"entry":"product","grid":["cdiv(n,{0})","m","batch"],"block":[{0}],"args":["A","B","D",{{"i32":"m"}},{{"i32":"n"}},{{"i32":"k"}}]}}]}}}}
extern "C" __global__ void product(const float* a, const float* b, float* d, int m, int n, int k) {{
  const long long row = blockIdx.z * (long long)m + blockIdx.y;
  const int col = blockIdx.x * {0} + threadIdx.x;
  if (col >= n) return;
  float sum = 0;
  for (int s = 0; s < k; ++s) sum += a[row * k + s] * b[(blockIdx.z * (long long)k + s) * n + col];
  d[row * n + col] = sum;
}}
```
)~";

// Answers by the question alone.
HttpReply answer(const HttpRequest& request) {
  const std::size_t digest = std::hash<std::string>{}(request.body);
  std::string text = fmt::format(kernel, 32 << digest % 4);
  if (request.body.find("\"strategies\"") != std::string::npos) {
    const auto idea = [&](int number) {
      return nlohmann::json{{"techniques",
                             {{{"name", "free"},
                               {"settings", nlohmann::json::array()},
                               {"text", fmt::format("idea {} of {}", number, digest % 1000)}}}},
                            {"rationale", "few instructions"}};
    };
    text = nlohmann::json{{"strategies", {idea(0), idea(1)}}}.dump();
  }
  HttpReply reply;
  reply.status = 200;
  reply.headers["content-type"] = "application/json";
  reply.body =
      nlohmann::json{{"choices", {{{"message", {{"content", text}}}, {"finish_reason", "stop"}}}},
                     {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 10}}}}
          .dump();
  return reply;
}

struct Strategies : SearchObserver {
  void on_candidate(const Candidate& candidate) override {
    all[candidate.id] =
        describe(candidate.strategy) +
        (std::holds_alternative<Accepted>(candidate.outcome) ? ": right" : ": refused");
  }
  std::map<std::uint64_t, std::string> all;
};

std::map<std::uint64_t, std::string> run(ChatClient& client, const std::string& dir) {
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  Strategies seen;
  EvolveOptions options;
  options.search.max_evaluations = 4;
  options.search.initial = 2;
  options.search.children = 2;
  options.search.lookahead = 2;
  options.seats.share = 1;
  options.seats.initial = 2;
  options.seats.prose = false;
  options.run_dir = dir;
  options.chat = &client;
  options.observer = &seen;
  REQUIRE_OK(evolve(*gemm_task({.m = 16, .n = 16, .k = 16}), **backend, options));
  return seen.all;
}

}  // namespace

TEST_CASE("a product's search with a model is repeated from its tape", "[models]") {
  const testing::TempDir dir;
  ModelsConfig config;
  config.endpoints = {{.name = "e", .url = "https://models.example/v1", .retries = 0}};
  config.models = {{.name = "m", .endpoint = "e", .model = "x", .stream = false}};
  config.roles = {{"*", "m"}};
  ModelOptions options;
  options.tape = dir / "run/tape.jsonl";
  REQUIRE(real_host().make_directories(dir / "run"));
  const auto client = open_models_by(answer, config, options);
  REQUIRE_OK(client);
  const auto first = run(**client, dir / "run");
  CHECK(first.size() >= 4);
  CHECK(first.begin()->second.ends_with(": right"));
  const auto tape = open_tape(options.tape);
  REQUIRE_OK(tape);
  CHECK(run(**tape, dir / "again") == first);
  ReplayOptions by_tape;
  by_tape.chat = tape->get();
  const auto replayed = replay(dir / "run", by_tape);
  REQUIRE_OK(replayed);
  CHECK(replayed->recorded == static_cast<std::int64_t>(first.size()));
  CHECK(replayed->same == replayed->recorded);
  CHECK(replayed->unknown == 0);
}
