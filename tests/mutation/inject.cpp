// Puts faults of order, width and rounds into the PTX of proved kernels and tells which of them
// pass.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cupilot/evolve.hpp>
#include <cupilot/rng.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "campaign.hpp"
#include "ptx_operators.hpp"

namespace cupilot::mutation {
namespace {

using Json = nlohmann::json;

struct Flags {
  std::vector<std::string> files{};
  std::string out{};
  std::uint64_t seed = 1;
  int jobs = 1, draw = 0;
  double seconds = 0;
};

struct Subject {
  std::string name{};
  Task task{};
  KernelSource source{};
  bool is_large = false;  // a tensor of 2 GiB or more at a time shape
};

struct Injection {
  const Subject* subject = nullptr;
  const PtxOperator* fault = nullptr;
  int site = 0, sites = 0, line = 0;
  std::string was{};
  Site edits{};
  Verdict verdict{};
  bool ran = false;
};

bool has_large_tensor(const Task& task) {
  for (const Workload& shape : task.time_shapes) {
    for (const Tensor& tensor : task.tensors) {
      const auto sized = shape_of(task, tensor, shape);
      if (sized && sized->elements >= (std::int64_t{1} << 31) / 4) return true;
    }
  }
  return false;
}

// The kernel as PTX, proved; else why it takes no part.
Result<Subject> subject_of(const std::string& path, Backend& backend) {
  const auto kernel = read_standalone(path);
  if (!kernel) return kernel.error();
  auto task = task_of(CUPILOT_SOURCE_DIR, kernel->task_words);
  if (!task) return task.error();
  Subject subject{std::filesystem::path(path).filename().string(), std::move(*task),
                  kernel->source};
  if (subject.source.language == Language::cuda) {
    const auto compiled = backend.compile(subject.source);
    if (!compiled) return Error{ErrorCode::usage, path + ": does not compile", {}};
    subject.source.language = Language::ptx;
    subject.source.text = compiled->ptx;
  }
  subject.is_large = has_large_tensor(subject.task);
  const Verdict plain = judge_source(subject.task, subject.source, backend);
  if (plain.fate != Fate::survived)
    return Error{ErrorCode::usage, path + ": " + plain.code + " " + plain.message, {}};
  return subject;
}

// The places of every operator, or as many drawn ones as asked of each kernel.
void add_injections(const Subject& subject, const Flags& flags, std::vector<Injection>& all) {
  const PtxText text(subject.source.text);
  std::vector<Injection> own;
  for (const PtxOperator& fault : ptx_operators()) {
    if (fault.needs_large && !subject.is_large) continue;
    const std::vector<Site> sites = fault.sites(text);
    for (std::size_t i = 0; i < sites.size(); ++i) {
      Injection one{&subject, &fault, static_cast<int>(i), static_cast<int>(sites.size())};
      const std::size_t at = sites[i].back().begin;
      one.line = 1 + static_cast<int>(
                         std::count(text.text().begin(),
                                    text.text().begin() + static_cast<std::ptrdiff_t>(at), '\n'));
      const std::size_t from = text.text().rfind('\n', at) + 1;
      one.was = text.text().substr(from, text.text().find('\n', at) - from);
      one.edits = sites[i];
      own.push_back(std::move(one));
    }
  }
  Rng rng = Rng::of(flags.seed, subject.name, 0);
  while (flags.draw > 0 && own.size() > static_cast<std::size_t>(flags.draw))
    own.erase(own.begin() + rng.below(static_cast<std::int64_t>(own.size())));
  all.insert(all.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
}

const char* name_of(Fate fate) {
  static constexpr const char* names[] = {"refused", "equal", "SURVIVED", "BROKEN"};
  return names[static_cast<int>(fate)];
}

Json json_of(const Injection& one) {
  return {{"kernel", one.subject->name},
          {"operator", one.fault->name},
          {"site", one.site},
          {"sites", one.sites},
          {"line", one.line},
          {"was", one.was},
          {"fate", name_of(one.verdict.fate)},
          {"code", one.verdict.code},
          {"seconds", one.verdict.seconds}};
}

void judge_all(std::vector<Injection>& all, Backend& backend, const Flags& flags) {
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<std::size_t> next{0};
  std::mutex printing;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      const double spent =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (flags.seconds > 0 && spent > flags.seconds) return;
      Injection& one = all[i];
      KernelSource source = one.subject->source;
      source.text = mutation::apply(source.text, one.edits);
      one.verdict = judge_source(one.subject->task, source, backend);
      one.ran = true;
      const std::lock_guard lock(printing);
      fmt::print("{:9} {:34} {:16} {:3}/{:3} line {:5} {:22} {:5.2f} s |{}\n",
                 name_of(one.verdict.fate), one.subject->name, one.fault->name, one.site, one.sites,
                 one.line, one.verdict.code, one.verdict.seconds, one.was);
      if (one.verdict.fate == Fate::broken) fmt::print("          {}\n", one.verdict.message);
      std::fflush(stdout);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(1, flags.jobs); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

void report(const std::vector<Injection>& all, const Flags& flags) {
  std::map<std::string, std::map<std::string, int>> tally;
  Json rows = Json::array();
  for (const Injection& one : all) {
    if (!one.ran) continue;
    ++tally[one.fault->name][name_of(one.verdict.fate)];
    ++tally["all"][name_of(one.verdict.fate)];
    rows.push_back(json_of(one));
  }
  for (const auto& [name, fates] : tally) {
    fmt::print("{:18}", name);
    for (const auto& [fate, count] : fates) fmt::print(" {} {};", count, fate);
    fmt::print("\n");
  }
  fmt::print("{} of {} ran\n", rows.size(), all.size());
  if (flags.out.empty()) return;
  std::ofstream out(flags.out);
  out << "[\n";
  for (std::size_t i = 0; i < rows.size(); ++i)
    out << "  " << rows[i].dump() << (i + 1 < rows.size() ? ",\n" : "\n");
  out << "]\n";
}

int run(const Flags& flags) {
  auto backend = open_backend("virtual:h200");
  if (!backend) return fmt::print(stderr, "{}\n", backend.error().message), 4;
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<Injection> all;
  for (const std::string& file : flags.files) {
    auto subject = subject_of(file, **backend);
    if (!subject) {
      fmt::print("takes no part: {}\n", subject.error().message);
      continue;
    }
    subjects.push_back(std::make_unique<Subject>(std::move(*subject)));
    add_injections(*subjects.back(), flags, all);
  }
  fmt::print("{} kernels, {} mutants\n", subjects.size(), all.size());
  std::fflush(stdout);
  judge_all(all, **backend, flags);
  report(all, flags);
  return 0;
}

}  // namespace
}  // namespace cupilot::mutation

int main(int argc, char** argv) {
  cupilot::mutation::Flags flags;
  CLI::App app{"faults of order, width and rounds put into the PTX of proved kernels"};
  app.add_option("files", flags.files, "kernel files (.cu or .ptx) with plan and task")->required();
  app.add_option("--draw", flags.draw, "as many drawn mutants of a kernel; default: all");
  app.add_option("--seed", flags.seed, "of what is drawn");
  app.add_option("--jobs", flags.jobs, "mutants at once");
  app.add_option("--seconds", flags.seconds, "starts no mutant after that time");
  app.add_option("--out", flags.out, "keeps a row a mutant as JSON");
  CLI11_PARSE(app, argc, argv);
  return cupilot::mutation::run(flags);
}
