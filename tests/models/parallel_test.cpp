// Several questions under way at once: the order of their answers changes neither the run nor its
// replay; and the page of such a run leads to its questions.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/models.hpp>
#include <cupilot/rng.hpp>

#include "catch.hpp"
#include "llm/open_models.hpp"
#include "support/kept_images.hpp"

using namespace cupilot;

namespace {

struct Folder {
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "cupilot-parallel-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

struct Outcomes : SearchObserver {
  void on_candidate(const Candidate& candidate) override {
    const auto* accepted = std::get_if<Accepted>(&candidate.outcome);
    const auto* rejected = std::get_if<Rejected>(&candidate.outcome);
    all[candidate.id] = describe(candidate.strategy) + ": " +
                        (accepted != nullptr ? fmt::format("{:.6g}", accepted->measurement.time_us)
                                             : (rejected != nullptr ? rejected->code : "lost"));
  }
  std::map<std::uint64_t, std::string> all;
};

// Answers after a while that the seed draws.
class SlowEndpoint {
 public:
  SlowEndpoint(std::uint64_t seed, std::string kernel) : seed_(seed), kernel_(std::move(kernel)) {}
  HttpReply carry(const HttpRequest& request) {
    const int mine = ++now_, number = ++asked_;
    for (int seen = most_; seen < mine && !most_.compare_exchange_weak(seen, mine);) {
    }
    const bool plans = request.body.find("\"strategies\"") != std::string::npos;
    auto wait = Rng::of(seed_, "wait", static_cast<std::uint64_t>(number)).below(plans ? 10 : 400);
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
    --now_;
    HttpReply reply;
    reply.status = 200;
    reply.headers["content-type"] = "application/json";
    // One idea of each question is written well, the others as no kernel at all.
    const bool well = request.body.find(R"(\n- free: \"idea 0 of)") != std::string::npos;
    const std::string text = plans ? plan(request.body) : well ? kernel_ : "I cannot.";
    reply.body = nlohmann::json(
                     {{"choices", {{{"message", {{"content", text}}}, {"finish_reason", "stop"}}}},
                      {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 10}}}})
                     .dump();
    return reply;
  }
  int most() const { return most_; }

 private:
  // Depends on the question alone, so that only the order of the answers differs.
  static std::string plan(const std::string& question) {
    const std::size_t digest = std::hash<std::string>{}(question) % 100'000;
    nlohmann::json all = nlohmann::json::array();
    for (int i = 0; i < 8; ++i)
      all.push_back({{"techniques",
                      {{{"name", "free"},
                        {"settings", nlohmann::json::array()},
                        {"text", fmt::format("idea {} of {}", i, digest)}}}},
                     {"rationale", "no barrier"}});
    return nlohmann::json({{"strategies", all}}).dump();
  }
  std::uint64_t seed_;
  std::string kernel_;
  std::atomic<int> now_{0}, most_{0}, asked_{0};
};

ModelsConfig config() {
  ModelsConfig config;
  config.endpoints = {{.name = "e", .url = "https://models.example/v1", .retries = 0}};
  config.models = {{.name = "m", .endpoint = "e", .model = "x", .stream = false}};
  config.roles = {{"*", "m"}};
  config.parallel = 6;
  return config;
}

std::map<std::uint64_t, std::string> run(ChatClient& client, const std::string& dir) {
  const auto task = load_task("examples/model_tape/task.json");
  REQUIRE(task);
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  Outcomes outcomes;
  EvolveOptions options;
  options.search.max_evaluations = 14;
  options.search.initial = 6;
  options.search.children = 6;
  options.search.lookahead = options.search.parallel = 6;
  options.seats.share = 1;
  options.seats.prose = false;
  options.run_dir = dir;
  options.chat = &client;
  options.observer = &outcomes;
  const auto report = evolve(*task, **backend, options);
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  return outcomes.all;
}

std::string read_all(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the order in which answers come changes neither a run nor its replay", "[models]") {
  const auto tape = read_tape("examples/model_tape/tape.jsonl");
  REQUIRE(tape);
  std::string good;
  for (const TapeEntry& entry : tape->entries)
    good = entry.key == "slot 8/repair/0" ? entry.reply.text : good;
  const Folder folder;
  std::vector<std::map<std::uint64_t, std::string>> runs;
  for (const std::uint64_t seed : {1, 2}) {
    const std::string dir = (folder.path / fmt::format("run{}", seed)).string();
    std::filesystem::create_directories(dir);
    SlowEndpoint endpoint(seed, good);
    ModelOptions options;
    options.tape = dir + "/tape.jsonl";
    const auto client = open_models_by(
        [&](const HttpRequest& request) { return endpoint.carry(request); }, config(), options);
    REQUIRE(client);
    runs.push_back(run(**client, dir));
    CHECK(endpoint.most() >= 2);
    CHECK(endpoint.most() <= 6);
  }
  CHECK(runs[0].size() >= 6);
  CHECK(runs[0] == runs[1]);
  CHECK(read_tape((folder.path / "run1/tape.jsonl").string())->parallel == 6);
  const auto taped = open_tape((folder.path / "run1/tape.jsonl").string());
  REQUIRE(taped);
  CHECK(run(**taped, (folder.path / "again").string()) == runs[0]);
  const std::string page = read_all(folder.path / "run1/report.html");
  CHECK(page.find("questions.html#candidate-1\"") != std::string::npos);
}
