// Whether two devices agree on what kernels compute.
//
//   agreement run DEVICE OUT.json [--count N] [--seed S]   runs N sampled strategies of each of a
//   few GEMMs, writes hashes, errors agreement run … --odd SHAPES                           N of
//   every template that can, of that many drawn shapes in all layouts agreement compare A.json
//   B.json                        exit 0 when they agree on every kernel both ran
//
// Agree: equal hashes of the output's bits for fp32 by multiply-adds with alpha 1, beta 0 and no
// activation (templates sum the parts of a split in slot order), both within the error bound
// elsewhere; equal bits there are counted too.
#include <cupilot/backend.hpp>
#include <cupilot/parts/agents.hpp>

#include <atomic>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "subjects.hpp"
#include "support/gemm.hpp"

namespace {

using nlohmann::json;
using namespace cupilot;

[[noreturn]] void fail(const Error& error) {
  std::cerr << "agreement: " << error.message << (error.hint.empty() ? "" : "; " + error.hint)
            << "\n";
  std::exit(static_cast<int>(error.code));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

json row_of(const CaseReport& report) {
  json row = {{"ok", report.faults.empty() && !report.not_for_this_shape},
              {"fits", !report.not_for_this_shape}};
  if (!report.faults.empty())
    row["fault"] = report.faults[0].code + ": " + report.faults[0].message;
  for (const OutputReport& output : report.outputs) {
    row["hash"] = output.bits_hash;
    row["worst_ratio"] = output.worst_ratio;
    row["failed"] = output.failed + output.never_written;
    if (output.failed + output.never_written > 0) row["ok"] = false;
  }
  return row;
}

// A sampled kernel of a subject on its way through the device.
struct Trial {
  const BenchSubject* subject = nullptr;
  const Task* task = nullptr;
  std::string strategy{};
  std::optional<Attempt<KernelSource>> source{};
  std::optional<Attempt<CompiledKernel>> kernel{};
};

Task task_of(const BenchSubject& subject) {
  Result<Task> task = gemm_of(subject.words);
  if (!task) fail(task.error());
  return *task;
}

struct Options {
  int count = 12;
  int odd = 0;
  std::uint64_t seed = 1;
};

// `count` strategies of the subject, with --odd of every template that is met in a number of draws.
// One space for all devices: what is sampled must not depend on the machine.
void sample_subject(const BenchSubject& subject, const Task& task, const Options& options,
                    std::uint64_t& drawn, std::vector<Trial>& trials) {
  static const DeviceSpec chip_spec = *chip("h200");
  static const auto writer = template_writer(builtin_tunables());
  auto space = make_space(task, chip_spec, builtin_tunables());
  if (!space) fail(space.error());
  std::set<std::string> seen;
  std::map<std::string, int> of_template;
  int kept = 0;
  for (int tries = 0; (options.odd > 0 || kept < options.count) && tries < 20 * options.count;
       ++tries) {
    const Strategy strategy = sample(**space, Rng::of(options.seed, "agreement", drawn++));
    if (!seen.insert(strategy_id(strategy)).second) continue;
    WriterBrief brief;
    brief.task = TaskRef(task);
    brief.strategy = &strategy;
    brief.device = &chip_spec;
    Attempt<KernelSource> source = writer->write(brief);
    if (source.is_error()) fail(source.error());
    if (options.odd > 0 && !source.is_rejected() &&
        of_template[source->template_name]++ >= options.count)
      continue;
    ++kept;
    trials.push_back({&subject, &task, strategy_id(strategy), std::move(source)});
  }
  std::cerr << joined(subject.words) << ": " << kept << " kernels\n";
}

void compile_all(Backend& backend, std::vector<Trial>& trials) {
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (int job = 0; job < std::max(1, backend.traits().parallel_compiles); ++job) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < trials.size(); i = next++) {
        if (!trials[i].source->is_rejected())
          trials[i].kernel = backend.compile(**trials[i].source);
      }
    });
  }
}

json run_trial(Backend& backend, const Trial& trial) {
  const auto refused = [](const Rejected& rejected) {
    return json{{"ok", false}, {"fault", rejected.code + ": " + rejected.message}};
  };
  if (trial.source->is_rejected()) return refused(trial.source->rejected());
  const Attempt<CompiledKernel>& kernel = *trial.kernel;
  if (kernel.is_error()) fail(kernel.error());
  if (kernel.is_rejected()) return refused(kernel.rejected());
  Case what;
  what.workload = trial.task->time_shapes.at(0);
  what.content.seed = 7;
  what.hash = true;
  Result<TrialReport> report = backend.run(TaskRef(*trial.task), *kernel, {&what, 1});
  if (!report) fail(report.error());
  json row = row_of(report->cases.at(0));
  row["kernel"] = kernel->id;
  row["template"] = (*trial.source)->template_name;
  return row;
}

int run(const std::string& device, const std::string& out, const Options& options) {
  auto backend = open_backend(device);
  if (!backend) fail(backend.error());
  const std::vector<BenchSubject> subjects =
      options.odd > 0 ? odd_subjects(options.odd, options.seed) : chosen_subjects();
  std::vector<Task> tasks;
  for (const BenchSubject& subject : subjects) tasks.push_back(task_of(subject));
  std::vector<Trial> trials;
  std::uint64_t drawn = 0;  // goes on from task to task, so that each has strategies of its own
  for (std::size_t i = 0; i < subjects.size(); ++i)
    sample_subject(subjects[i], tasks[i], options, drawn, trials);
  compile_all(**backend, trials);
  json rows = json::array();
  for (const Trial& trial : trials) {
    json row = run_trial(**backend, trial);
    row["task"] = joined(trial.subject->words);
    row["strategy"] = trial.strategy;
    row["bitwise"] = trial.subject->bitwise;
    rows.push_back(std::move(row));
  }
  std::ofstream file(out);
  file << json{{"device", (*backend)->identity()}, {"seed", options.seed}, {"kernels", rows}}.dump(
              1)
       << "\n";
  return file ? 0 : 1;
}

std::map<std::string, json> rows_of(const std::string& path, std::string& device) {
  std::ifstream file(path);
  const json whole = json::parse(file, nullptr, false);
  if (whole.is_discarded()) fail({ErrorCode::usage, path + " is no result of `agreement run`", ""});
  device = whole.at("device");
  std::map<std::string, json> rows;
  for (const json& row : whole.at("kernels"))
    rows[row.at("task").get<std::string>() + " " + row.at("strategy").get<std::string>()] = row;
  return rows;
}

int compare(const std::string& a_path, const std::string& b_path) {
  std::string a_name, b_name;
  const auto a = rows_of(a_path, a_name), b = rows_of(b_path, b_name);
  int bitwise = 0, bound = 0, unasked = 0, neither = 0;
  std::map<std::string, int> right_by_template;
  std::set<std::string> strategies;
  json disagreements = json::array();
  for (const auto& [key, left] : a) {
    const auto found = b.find(key);
    if (found == b.end()) continue;
    const json& right = found->second;
    const bool both = left.value("ok", false) && right.value("ok", false);
    const bool must_equal = left.value("bitwise", false);
    const bool equal_bits = left.value("hash", "") == right.value("hash", "");
    const bool agree =
        both ? !must_equal || equal_bits : left.value("ok", false) == right.value("ok", false);
    if (!agree) {
      disagreements.push_back({{"kernel", key}, {a_name, left}, {b_name, right}});
    } else if (both) {
      ++(must_equal ? bitwise : bound);
      unasked += !must_equal && equal_bits ? 1 : 0;
      strategies.insert(left.at("strategy").get<std::string>());
      ++right_by_template[left.at("template").get<std::string>()];
    } else {
      ++neither;
    }
  }
  std::cout << json{{"devices", {a_name, b_name}},    {"strategies", strategies.size()},
                    {"agree_bitwise", bitwise},       {"agree_within_bound", bound},
                    {"of_these_equal_bits", unasked}, {"right_by_template", right_by_template},
                    {"right_on_neither", neither},    {"disagree", disagreements}}
                   .dump(1)
            << "\n";
  return disagreements.empty() && !strategies.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "compare") return compare(words[1], words[2]);
  Options options;
  bool ok = words.size() >= 3 && words.size() % 2 == 1 && words[0] == "run";
  for (std::size_t i = 3; ok && i + 1 < words.size(); i += 2) {
    const long value = std::strtol(words[i + 1].c_str(), nullptr, 10);
    ok = value > 0;
    if (words[i] == "--count") {
      options.count = static_cast<int>(value);
    } else if (words[i] == "--odd") {
      options.odd = static_cast<int>(value);
    } else if (words[i] == "--seed") {
      options.seed = static_cast<std::uint64_t>(value);
    } else {
      ok = false;
    }
  }
  if (!ok) {
    std::cerr << "usage: agreement run DEVICE OUT.json [--count N] [--odd SHAPES] [--seed S] | "
                 "agreement compare A.json B.json\n";
    return 2;
  }
  return run(words[1], words[2], options);
}
