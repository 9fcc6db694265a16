// Whether two devices agree on what kernels compute.
//
//   agreement run DEVICE OUT.json [--count N] [--seed S]   runs N sampled strategies of each GEMM below, writes hashes, errors
//   agreement compare A.json B.json                        exit 0 when they agree on every kernel both ran
//
// Agree: equal hashes of the output's bits for fp32 by multiply-adds with alpha 1, beta 0 and no activation (templates sum the
// parts of a split in slot order), both within the error bound elsewhere; equal bits there are counted too.
#include <cupilot/agents.hpp>
#include <cupilot/backend.hpp>
#include <cupilot/gemm.hpp>

#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace {

using nlohmann::json;
using namespace cupilot;

struct Subject {
  std::vector<std::string> words;
  bool bitwise = false;
};

// Odd shapes in every layout; batches; the tensor cores and the epilogue within bound.
const std::vector<Subject> subjects = {
    {{"m=129", "n=65", "k=67", "dtype=fp32"}, true},
    {{"m=96", "n=200", "k=130", "dtype=fp32", "layout=tn"}, true},
    {{"m=70", "n=131", "k=64", "dtype=fp32", "layout=nt", "batch=2"}, true},
    {{"m=130", "n=97", "k=99", "dtype=fp32", "layout=tt", "alpha=0.5", "beta=2", "bias=1", "act=gelu"}, false},
    {{"m=136", "n=72", "k=96", "dtype=bf16"}, false},
    {{"m=65", "n=129", "k=70", "dtype=fp16", "layout=nt"}, false},
    {{"m=130", "n=72", "k=68", "dtype=fp32", "precision=tf32"}, false},
};

[[noreturn]] void fail(const Error& error) {
  std::cerr << "agreement: " << error.message << (error.hint.empty() ? "" : "; " + error.hint) << "\n";
  std::exit(static_cast<int>(error.code));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

json row_of(const CaseReport& report) {
  json row = {{"ok", report.faults.empty() && !report.not_for_this_shape}, {"fits", !report.not_for_this_shape}};
  if (!report.faults.empty()) row["fault"] = report.faults[0].code + ": " + report.faults[0].message;
  for (const OutputReport& output : report.outputs) {
    row["hash"] = output.bits_hash;
    row["worst_ratio"] = output.worst_ratio;
    row["failed"] = output.failed + output.never_written;
    if (output.failed + output.never_written > 0) row["ok"] = false;
  }
  return row;
}

json run_strategy(Backend& backend, const Task& task, const Strategy& strategy, KernelWriter& writer) {
  WriterBrief brief;
  brief.task = &task;
  brief.strategy = &strategy;
  brief.device = &backend.device();
  const auto refused = [](const Rejected& rejected) {
    return json{{"ok", false}, {"fault", rejected.code + ": " + rejected.message}};
  };
  Attempt<KernelSource> source = writer.write(brief);
  if (source.is_error()) fail(source.error());
  if (source.is_rejected()) return refused(source.rejected());
  Attempt<CompiledKernel> kernel = backend.compile(*source);
  if (kernel.is_error()) fail(kernel.error());
  if (kernel.is_rejected()) return refused(kernel.rejected());
  Case what;
  what.workload = task.time_shapes.at(0);
  what.content.seed = 7;
  what.hash = true;
  Result<TrialReport> report = backend.run(task, *kernel, {&what, 1});
  if (!report) fail(report.error());
  json row = row_of(report->cases.at(0));
  row["kernel"] = kernel->id;
  row["template"] = source->template_name;
  return row;
}

int run(const std::string& device, const std::string& out, int count, std::uint64_t seed) {
  auto backend = open_backend(device);
  if (!backend) fail(backend.error());
  const auto writer = template_writer(builtin_tunables());
  // One space for all devices: what is sampled must not depend on the machine.
  const DeviceSpec chip_spec = *chip("h200");
  json rows = json::array();
  std::uint64_t drawn = 0;  // goes on from task to task, so that each has strategies of its own
  for (const Subject& subject : subjects) {
    Result<GemmSpec> spec = gemm_spec_from(subject.words);
    if (!spec) fail(spec.error());
    Result<Task> task = gemm_task(*spec);
    if (!task) fail(task.error());
    auto space = make_space(*task, chip_spec, builtin_tunables());
    if (!space) fail(space.error());
    std::set<std::string> seen;
    for (int tries = 0; seen.size() < static_cast<std::size_t>(count) && tries < 20 * count; ++tries) {
      const Strategy strategy = sample(**space, Rng::of(seed, "agreement", drawn++));
      const std::string id = strategy_id(strategy);
      if (!seen.insert(id).second) continue;
      json row = run_strategy(**backend, *task, strategy, *writer);
      row["task"] = joined(subject.words);
      row["strategy"] = id;
      row["bitwise"] = subject.bitwise;
      rows.push_back(std::move(row));
    }
    std::cerr << joined(subject.words) << ": " << seen.size() << " kernels\n";
  }
  std::ofstream file(out);
  file << json{{"device", (*backend)->identity()}, {"seed", seed}, {"kernels", rows}}.dump(1) << "\n";
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
  int bitwise = 0, bound = 0, unasked = 0;
  std::set<std::string> strategies;
  json disagreements = json::array();
  for (const auto& [key, left] : a) {
    const auto found = b.find(key);
    if (found == b.end()) continue;
    const json& right = found->second;
    const bool both = left.value("ok", false) && right.value("ok", false);
    const bool must_equal = left.value("bitwise", false);
    const bool equal_bits = left.value("hash", "") == right.value("hash", "");
    const bool agree = both ? !must_equal || equal_bits : left.value("ok", false) == right.value("ok", false);
    if (!agree) {
      disagreements.push_back({{"kernel", key}, {a_name, left}, {b_name, right}});
    } else if (both) {
      ++(must_equal ? bitwise : bound);
      unasked += !must_equal && equal_bits ? 1 : 0;
      strategies.insert(left.at("strategy").get<std::string>());
    }
  }
  std::cout << json{{"devices", {a_name, b_name}}, {"strategies", strategies.size()}, {"agree_bitwise", bitwise},
                    {"agree_within_bound", bound}, {"of_these_equal_bits", unasked},  {"disagree", disagreements}}
                   .dump(1)
            << "\n";
  return disagreements.empty() && !strategies.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "compare") return compare(words[1], words[2]);
  int count = 12;
  std::uint64_t seed = 1;
  bool ok = words.size() >= 3 && words.size() % 2 == 1 && words[0] == "run";
  for (std::size_t i = 3; ok && i + 1 < words.size(); i += 2) {
    const long value = std::strtol(words[i + 1].c_str(), nullptr, 10);
    if (words[i] == "--count" && value > 0) {
      count = static_cast<int>(value);
    } else if (words[i] == "--seed" && value > 0) {
      seed = static_cast<std::uint64_t>(value);
    } else {
      ok = false;
    }
  }
  if (!ok) {
    std::cerr << "usage: agreement run DEVICE OUT.json [--count N] [--seed S] | agreement compare A.json B.json\n";
    return 2;
  }
  return run(words[1], words[2], count, seed);
}
