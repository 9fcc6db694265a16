// Templates with all their techniques off, proved before a search spends anything on them.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "evolution/journal/run_files.hpp"
#include "evolution/run/driver.hpp"

namespace cupilot {
namespace {

// Refusals that another setting is unlikely to escape: for what the text says, or for what its
// launch plan says of a shape. Limits, budgets and times are not among them.
bool is_of_the_text(std::string_view code) {
  constexpr std::string_view others[] = {
      "gate.duplicate", "gate.size", "gate.source_size", "plan.limit", "run.launch",
      "run.hang",       "run.crash", "run.unsupported",  "run.budget", "verify.no_shape"};
  if (std::find(std::begin(others), std::end(others), code) != std::end(others)) return false;
  return code == "compile.error" || code.starts_with("plan.") || code.starts_with("gate.") ||
         code.starts_with("run.") || code.starts_with("verify.");
}

}  // namespace

Result<FinalRecord> Driver::prove_plain(const PlainSetting& setting) {
  const Phase phase("plain setting");
  EvaluationOptions rules;
  rules.level = ProofLevel::finalist;
  rules.proof_only = true;
  rules.proof_seed = Rng::of(options_.search.seed, "plain setting").next();
  auto passed = pass_source(pipe_, *setting.source, rules);
  if (!passed) return passed.error();
  FinalRecord record;
  record.stage = plain_stage;
  record.slot = -1;
  record.candidate = std::move(passed->candidate);
  return record;
}

Result<bool> Driver::prove_plain_settings() {
  const bool others_write = options_.chat != nullptr;
  bool stands = context_.plain.empty() || others_write;
  std::vector<std::string> notes;
  for (const PlainSetting& setting : context_.plain) {
    if (cancelled()) return true;
    const std::string name = "the plain setting of " + setting.name;
    if (!setting.source) {
      stands = true;
      notes.push_back(name + " is no kernel: " + setting.source.error().message);
      continue;
    }
    const double began = host_.monotonic_seconds();
    auto record = do_part("plain setting", "proving " + name, [&] { return prove_plain(setting); });
    if (!record) {
      if (cancelled()) return true;
      return std::move(record.error()).while_doing("proving " + name);
    }
    const auto* rejected = std::get_if<Rejected>(&record->candidate.outcome);
    stands = stands || rejected == nullptr || !is_of_the_text(rejected->code);
    if (rejected == nullptr)
      plain_proof_seconds_ = std::max(plain_proof_seconds_, host_.monotonic_seconds() - began);
    if (rejected == nullptr) continue;
    FirstRefusal refusal = first_refusal(record->candidate);
    notes.push_back(sentence(explained(refusal, record->candidate.source.text, own_)) +
                    "; other settings are tried all the same");
    plain_refused_.push_back(std::move(*record));
  }
  if (stands) context_.notices.insert(context_.notices.end(), notes.begin(), notes.end());
  return stands;
}

// Every template's plain setting is refused for a reason of its text.
Result<EvolveReport> Driver::end_unbegun() {
  stopped_ = plain_refused;
  for (const FinalRecord& record : plain_refused_) {
    const Candidate& candidate = record.candidate;
    const FirstRefusal refusal = first_refusal(candidate);
    Refusal told = explained(refusal, candidate.source.text, own_);
    if (options_.observer != nullptr) options_.observer->on_refusal(told);
    told_.emplace(refusal.why.code, std::move(told));
    keep_first(final_refusals_, refusal);
    if (!journal_) continue;
    auto kept = keep_source(host_, options_.run_dir, candidate, options_.task_words);
    if (!kept) return explain(kept.error());
    journal_->add(RecordType::final_trial, to_json(record));
  }
  EvolveReport report = report_so_far();
  for (const FinalRecord& record : plain_refused_)
    ++report.rejected[std::get<Rejected>(record.candidate.outcome).code];
  return end_run(std::move(report), -1);
}

}  // namespace cupilot
