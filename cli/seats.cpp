#include "seats.hpp"

#include <algorithm>
#include <cmath>

#include <cupilot/parts/models.hpp>

#include "models.hpp"

namespace cupilot::cli {
namespace {

// Proposals are expensive and see more: small generations, the next one soon.
constexpr int children = 8;

// Candidates whose questions are to be open at once; 0: as many as without models.
int questions_at_once(const SeatFlags& flags) {
  if (is_handoff(flags.models)) return handoff_parallel;
  if (!flags.models.empty()) {
    const auto config = models_from_words(flags.models);
    return config ? config->parallel : 0;
  }
  const auto tape =
      flags.tape.empty() ? Result<TapeContents>(TapeContents{}) : read_tape(flags.tape);
  return tape ? tape->parallel : 0;
}

}  // namespace

Result<void> check_unused(const SeatFlags& flags, const std::string& run_dir) {
  const std::string journal = run_dir + "/journal";
  if ((flags.models.empty() && flags.tape.empty()) || !real_host().exists(journal)) return {};
  // A run that died before its header was whole has nothing to lose.
  const auto run = read_beginning(run_dir);
  if (!run && run.error().message.find("holds no whole record") != std::string::npos) return {};
  return Error{
      ErrorCode::usage, run_dir + " already holds a run",
      "continue it with `cupilot resume " + run_dir + "`, or choose another --run directory"};
}

Result<std::unique_ptr<ChatClient>> open_seats(const SeatFlags& flags, const std::string& run_dir,
                                               std::uint64_t seed,
                                               std::function<void(const std::string&)> notice) {
  if (!flags.models.empty()) return open_models_of(flags.models, run_dir, seed, std::move(notice));
  if (flags.tape.empty()) return std::unique_ptr<ChatClient>();
  auto text = real_host().read_file(flags.tape);
  if (!text)
    return Error{ErrorCode::usage, "--tape: " + text.error().message,
                 "name a tape (docs/formats/tape.md)"};
  // The run keeps it, so that it can be resumed, replayed and reported.
  if (auto made = real_host().make_directories(run_dir); !made) return made.error();
  const auto lock = real_host().lock(tape_path(run_dir) + ".lock");
  if (!lock) return lock.error();
  if (auto kept = real_host().write_file_atomically(tape_path(run_dir), *text, true); !kept)
    return kept.error();
  return open_tape(tape_path(run_dir));
}

Result<std::unique_ptr<ChatClient>> reopen_seats(const SeatFlags& flags, const std::string& run_dir,
                                                 const RunBeginning& run,
                                                 std::function<void(const std::string&)> notice) {
  if (!flags.models.empty())
    return open_models_of(flags.models, run_dir, run.seed, std::move(notice));
  if (!run.models) return std::unique_ptr<ChatClient>();
  if (real_host().exists(tape_path(run_dir))) return open_tape(tape_path(run_dir));
  return Error{
      ErrorCode::usage, "models took part in " + run_dir + ", and its tape.jsonl is gone",
      "put back a copy of it, or name the models that the run goes on with: --models FILE"};
}

Result<void> seat_models(const SeatFlags& flags, ChatClient* client, bool measures,
                         EvolveOptions& options) {
  if (client == nullptr) return {};
  options.chat = client;
  options.seats.share = flags.share;
  options.seats.later = flags.later;
  // The first question fills the slots of generation 0 that are the model's.
  options.seats.initial =
      std::max(options.seats.initial, static_cast<int>(std::ceil(flags.share * initial_slots)));
  options.seats.prose = flags.prose;
  options.search.initial = initial_slots;
  options.search.children = children;
  options.search.repairs = flags.repairs;
  options.search.steering.alignment = flags.alignment;
  options.search.steering.code_crossover = flags.code_crossover;
  if (!measures) options.search.lookahead = usual_lookahead;
  if (const int at_once = questions_at_once(flags); at_once > 0) {
    if (!measures) options.search.lookahead = std::max(usual_lookahead, at_once);
    options.search.parallel = std::max(options.search.parallel, at_once);
  }
  options.model_patience = flags.patience;
  if (flags.statement.empty()) return {};
  auto text = real_host().read_file(flags.statement);
  if (!text)
    return Error{ErrorCode::usage, "--statement: " + text.error().message, "name a file of text"};
  options.seats.statement = std::move(*text);
  return {};
}

}  // namespace cupilot::cli
