#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <optional>
#include <string_view>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/models.hpp>
#include <cupilot/parts/run_report.hpp>

#include "commands/verbs.hpp"
#include "models.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

std::string best_text(double us, Provenance how) {
  return us > 0 ? fmt::format("{} {}", time_text(us), name_of(how)) : "none";
}

void print(const ReplayReport& report, const std::string& dir) {
  const bool whole = report.same == report.recorded;
  say(fmt::format(
      "replayed {}: {} proposals, {} as the run made them{}", dir, report.proposed, report.same,
      whole ? "" : fmt::format("; the first other one is in slot {}", report.first_other_slot)));
  if (report.unknown > 0)
    say(fmt::format("of {} proposals the run knows no outcome: they count as lost",
                    report.unknown));
  say(fmt::format("best {} of the search, {} of the run{}",
                  best_text(report.best_us, report.provenance),
                  best_text(report.run_best_us, report.provenance),
                  report.best_strategy.empty() ? "" : ": " + report.best_strategy));
}

void print_json(const ReplayReport& report) {
  const nlohmann::ordered_json json = {{"proposed", report.proposed},
                                       {"same", report.same},
                                       {"first_other_slot", report.first_other_slot},
                                       {"unknown", report.unknown},
                                       {"recorded", report.recorded},
                                       {"best_us", report.best_us},
                                       {"run_best_us", report.run_best_us},
                                       {"provenance", name_of(report.provenance)},
                                       {"best_strategy", report.best_strategy}};
  say(json.dump());
}

// Keeps the first refusal of a question that is another than the tape's of that key.
class Watched : public ChatClient {
 public:
  explicit Watched(ChatClient& tape) : tape_(tape) {}
  Result<ChatReply> complete(const ChatRequest& request) override {
    auto reply = tape_.complete(request);
    if (!reply && !other_ && reply.error().message.find(other_question) != std::string::npos)
      other_ = reply.error();
    return reply;
  }
  const std::optional<Error>& other() const { return other_; }

 private:
  static constexpr std::string_view other_question = "is of another question";
  ChatClient& tape_;
  std::optional<Error> other_;
};

Result<std::unique_ptr<ChatClient>> tape_of(const std::string& dir) {
  const auto run = read_beginning(dir);
  if (!run) return run.error();
  if (!run->models) return std::unique_ptr<ChatClient>();
  if (real_host().exists(tape_path(dir))) return open_tape(tape_path(dir));
  return Error{ErrorCode::usage, "models took part in " + dir + ", and its tape.jsonl is gone",
               "put back a copy of it, or search with the built-in strategist: --policy rules"};
}

}  // namespace

int replay_command(const ReplayFlags& flags) {
  ReplayOptions options;
  if (flags.policy != "run") options.random_search = false;
  options.change = [&](SearchOptions& search) {
    if (flags.seed >= 0) search.seed = static_cast<std::uint64_t>(flags.seed);
    if (flags.policy == "rules") search.policy = SearchPolicy::evolution;
    if (flags.policy == "random") search.policy = SearchPolicy::random;
  };
  std::unique_ptr<ChatClient> tape;
  std::optional<Watched> watched;
  if (flags.policy == "run") {
    auto opened = tape_of(flags.dir);
    if (!opened) return fail(opened.error(), flags.json);
    tape = std::move(*opened);
    if (tape) options.chat = &watched.emplace(*tape);
  }
  const Result<ReplayReport> report = replay(flags.dir, options);
  if (!report) return fail(report.error(), flags.json);
  // With another seed other questions are meant.
  if (watched && watched->other() && flags.seed < 0)
    return fail({ErrorCode::usage,
                 flags.dir + " is of another version of the prompts: " + watched->other()->message,
                 "replay it with the version that made it, or search with the built-in "
                 "strategist: --policy rules"},
                flags.json);
  if (flags.json) {
    print_json(*report);
  } else {
    print(*report, flags.dir);
  }
  return 0;
}

}  // namespace cupilot::cli
