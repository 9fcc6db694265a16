// A short search on a simulated machine without troubles of its own: what tests of one fault at a
// time begin from.
#pragma once

#include <algorithm>
#include <string>

#include <cupilot/evolve.hpp>

#include "base/hash.hpp"
#include "endurance/sim_device.hpp"
#include "evolution/journal/events.hpp"
#include "evolution/journal/run_state.hpp"

namespace cupilot::testing {

struct ShortRun {
  SimHost host{Rng(1)};
  SimDevice device;
  EvolveOptions options;

  explicit ShortRun(std::int64_t evaluations = 14) : device(host, landscape(), 3, {}) {
    options.search.max_evaluations = evaluations;
    options.search.population = 8;
    options.search.initial = 8;
    options.search.children = 4;
    options.search.lookahead = 4;
    options.search.offspring_per_slot = 2;
    options.run_dir = "run";
    options.host = &host;
  }

  static Landscape landscape() {
    LandscapeSpec spec;
    spec.kind = LandscapeKind::nk;
    spec.variables = 6;
    spec.values = 3;
    spec.k = 1;
    spec.neutral = 1;
    spec.seed = 9;
    return std::move(*Landscape::make(spec));
  }

  // Goes on where there is something to go on with.
  Result<EvolveReport> go_on() {
    device.heal();
    if (!host.exists(journal_path("run"))) return evolve(Task{}, device, options);
    auto report = resume("run", device, options);
    if (!report && report.error().message.find("no whole record") != std::string::npos)
      return evolve(Task{}, device, options);
    return report;
  }

  // The same, and where the journal is refused as damaged, what the message says to do first.
  Result<EvolveReport> go_on_as_told() {
    auto report = go_on();
    if (report || report.error().message.find("is damaged") == std::string::npos) return report;
    const std::string cut = "truncate -s ", hint = report.error().hint;
    const std::size_t at = hint.find(cut);
    put_journal(at == std::string::npos
                    ? ""
                    : journal().substr(0, std::stoul(hint.substr(at + cut.size()))));
    return go_on();
  }

  std::string journal() {
    auto bytes = host.read_file(journal_path("run"));
    return bytes ? *bytes : "";
  }

  void put_journal(const std::string& bytes) {
    auto file = host.open_append(journal_path("run"), 0);
    if (file && (*file)->append(bytes)) static_cast<void>((*file)->sync());
  }

  // Results and best; what no fault may change.
  std::string essence() {
    std::vector<std::string> results;
    std::string best;
    for (const FramedRecord& record : read_records(journal()).records) {
      const auto type = static_cast<RecordType>(record.type);
      if (type == RecordType::result)
        results.push_back(comparable_record(record.type, record.payload));
      if (type == RecordType::final_trial) best = comparable_record(record.type, record.payload);
    }
    std::sort(results.begin(), results.end());
    std::string text;
    for (const std::string& result : results) text += result + "\n";
    return sha256_hex(text + best);
  }
};

// Whether whole records, which can be folded, are followed by at most half a one.
inline bool is_valid(const std::string& journal) {
  const ReadRecords read = read_records(journal);
  return read.records.empty() ||
         ((read.damage.empty() || read.damage.find("torn") != std::string::npos) && fold(read));
}

// Whether `part` are the first records of `whole`.
inline bool is_prefix(const std::vector<FramedRecord>& part,
                      const std::vector<FramedRecord>& whole) {
  if (part.size() > whole.size()) return false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i].type != whole[i].type || part[i].payload != whole[i].payload) return false;
  }
  return true;
}

}  // namespace cupilot::testing
