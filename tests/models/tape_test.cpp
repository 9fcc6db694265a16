// The example whose replies were written by hand: kernels beyond the templates are proposed,
// refused, mended, and win.
#include <cupilot/evolve.hpp>
#include <cupilot/parts/models.hpp>

#include <map>
#include <mutex>

#include "catch.hpp"
#include "evolution/support.hpp"
#include "models/prompt_scan.hpp"
#include "support/kept_images.hpp"
#include "support/scripted_chat.hpp"

using namespace cupilot;

namespace {

// Passes questions on and keeps them.
struct Listening : ChatClient {
  explicit Listening(ChatClient& other) : inner(other) {}
  Result<ChatReply> complete(const ChatRequest& request) override {
    auto reply = inner.complete(request);
    const std::lock_guard lock(mutex);
    if (reply) answered.push_back(request);
    return reply;
  }
  ChatClient& inner;
  std::mutex mutex;
  std::vector<ChatRequest> answered;
};

struct Story : SearchObserver {
  void on_candidate(const Candidate& candidate) override {
    const bool free_form = !candidate.kernel_id.empty() && candidate.source.template_name.empty();
    const auto* rejected = std::get_if<Rejected>(&candidate.outcome);
    if (free_form && rejected != nullptr) ++refused[rejected->code];
    if (!free_form || rejected != nullptr || candidate.strategy.origin != "repair") return;
    ++mended;
  }
  void on_notice(const std::string& notice) override { notices += notice + "\n"; }
  std::map<std::string, int> refused;
  std::string notices;
  int mended = 0;
};

EvolveOptions options_of(ChatClient& client, Story& story) {
  EvolveOptions options;
  options.search.max_evaluations = 26;
  options.search.initial = 12;
  options.search.children = 8;
  options.search.lookahead = 4;
  options.search.repairs = 3;
  options.search.parallel = 2;
  options.tunables = {"examples/model_tape/rms_norm.cu"};
  options.chat = &client;
  options.observer = &story;
  return options;
}

}  // namespace

TEST_CASE("a tape written by hand: free kernels are refused, mended, and win", "[models][tape]") {
  const auto task = load_task("examples/model_tape/task.json");
  REQUIRE(task);
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  const auto tape = open_tape("examples/model_tape/tape.jsonl");
  REQUIRE(tape);
  const auto contents = read_tape("examples/model_tape/tape.jsonl");
  REQUIRE(contents);
  CHECK(contents->entries.size() >= 20);
  CHECK(contents->note.find("by hand") != std::string::npos);

  Listening model(**tape);
  Story story;
  const auto report = evolve(*task, **backend, options_of(model, story));
  INFO((report ? "" : report.error().message) << story.notices);
  REQUIRE(report);
  REQUIRE(report->best);
  CHECK(model.answered.size() >= 15);
  for (const ChatRequest& request : model.answered) {
    const std::string foreign = testing::foreign_in(request);
    CHECK(foreign == "");
  }

  CHECK(story.refused["compile.error"] >= 1);
  CHECK(story.refused["verify.never_written"] + story.refused["verify.bound"] >= 1);
  CHECK(story.refused["run.race"] >= 1);
  CHECK(story.mended >= 3);
  CHECK(report->best->candidate.source.template_name.empty());
  CHECK(std::get<Accepted>(report->best->candidate.outcome).measurement.provenance ==
        Provenance::modelled);
}

TEST_CASE("a task that no template serves is the model's altogether", "[models]") {
  const auto task = load_task("examples/model_tape/task.json");
  REQUIRE(task);
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  const auto tape = read_tape("examples/model_tape/tape.jsonl");
  REQUIRE(tape);
  std::string good;
  for (const TapeEntry& entry : tape->entries)
    good = entry.key == "slot 8/repair/0" ? entry.reply.text : good;
  bool alive = true;
  testing::ScriptedChat model([&](const ChatRequest& request) -> Result<ChatReply> {
    if (!alive) return testing::silence();
    if (request.agent == "strategist")
      return testing::said(
          R"({"strategies":[{"techniques":[{"name":"free","settings":[],"text":"a warp a row"}],)"
          R"("rationale":"no barrier"}]})");
    return testing::said(good);
  });
  Story story;
  EvolveOptions options = options_of(model, story);
  options.tunables.clear();
  options.search.max_evaluations = 2;
  const auto report = evolve(*task, **backend, options);
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  REQUIRE(report->best);
  CHECK(report->best->candidate.source.template_name.empty());
  // The first question fills generation 0.
  REQUIRE_FALSE(model.asked.empty());
  const std::string first = model.asked.front().messages.back().text;
  INFO(first);
  CHECK(first.find("Propose 12 strategies") != std::string::npos);
  // Nobody else proposes: a silence ends the run, and is asked again when it is resumed.
  alive = false;
  const auto silent = evolve(*task, **backend, options);
  REQUIRE_FALSE(silent);
  CHECK(silent.error().code == ErrorCode::endpoint);
  options.chat = nullptr;
  CHECK_FALSE(evolve(*task, **backend, options));
}

TEST_CASE("a search that a model serves alone looks back as far as questions are open",
          "[models]") {
  const auto task = load_task("examples/model_tape/task.json");
  REQUIRE(task);
  const auto backend = open_backend("virtual:h200", testing::kept_images());
  REQUIRE(backend);
  testing::ScriptedChat model(
      [](const ChatRequest&) -> Result<ChatReply> { return testing::silence(); });
  const testing::TempDir temp;
  for (const int parallel : {0, 7}) {
    Story story;
    EvolveOptions options = options_of(model, story);
    options.tunables.clear();
    options.search.lookahead = 0;
    options.search.parallel = parallel;
    options.run_dir = temp / std::to_string(parallel);
    REQUIRE_FALSE(evolve(*task, **backend, options));
    const auto journal = real_host().read_file(options.run_dir + "/journal");
    REQUIRE(journal);
    INFO(journal->substr(0, 3000));
    CHECK(journal->find(parallel == 0 ? "\"lookahead\":4" : "\"lookahead\":7") !=
          std::string::npos);
  }
}
