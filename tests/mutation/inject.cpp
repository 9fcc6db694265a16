// Puts faults of order, width and rounds into the PTX of proved kernels and tells which of them
// pass.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cupilot/evolve.hpp>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/stop.hpp"
#include "injection.hpp"

namespace cupilot::mutation {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  std::vector<std::string> files{};
  std::string out{}, root = CUPILOT_SOURCE_DIR, pack{}, cache{};
  std::uint64_t seed = 1;
  int jobs = 1, draw = 0;
  double seconds = 0;
};

// What all jobs share. `over`: the time is, and what is under way is given up.
struct Shared {
  const Flags& flags;
  Backend& backend;
  Records records{};
  Clock::time_point begin = Clock::now(), saved = begin;
  std::mutex lock{};
  std::atomic<bool> over{false};

  double spent() const { return std::chrono::duration<double>(Clock::now() - begin).count(); }
  void save() {
    saved = Clock::now();
    if (!flags.out.empty() && !records.write(flags.out))
      fmt::print(stderr, "{} cannot be written\n", flags.out);
  }
};

// Calls f(i) for all below a count, on as many threads as there are jobs, until the time is over.
template <class F>
void on_all(Shared& shared, std::size_t count, F f) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    const StopScope scope({nullptr, &shared.over});
    for (std::size_t i = next++; i < count && !shared.over; i = next++) f(i);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(1, shared.flags.jobs); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::string> kernel_files(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (!std::filesystem::is_directory(name)) {
      out.push_back(name);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(name)) {
      const auto end = entry.path().extension();
      if (end == ".ptx" || end == ".cu") out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void pack(const Subject& subject, const std::string& folder) {
  std::ofstream out(folder + "/" + subject.name + ".ptx");
  out << standalone_text(subject.source, subject.task_words);
}

// Proves the kernel as it stands, unless that was done.
void prove(Shared& shared, Subject& subject) {
  {
    const std::lock_guard hold(shared.lock);
    if (shared.records.knows(subject)) return;
  }
  const Verdict plain = judge_source(subject.task, subject.source, shared.backend);
  if (shared.over) return;
  subject.taken = plain.fate == Fate::survived;
  subject.reason = plain.code + " " + plain.message.substr(0, 200);
  const std::lock_guard hold(shared.lock);
  shared.records.add(subject, plain.seconds);
  fmt::print("{:9} {:44} {:6.2f} s {}\n", subject.taken ? "proved" : "NOT", subject.name,
             plain.seconds, subject.taken ? "" : subject.reason);
  std::fflush(stdout);
}

void judge_mutant(Shared& shared, const Injection& one) {
  KernelSource source = one.subject->source;
  source.text = mutation::apply(source.text, one.edits);
  const Verdict verdict = judge_source(one.subject->task, source, shared.backend);
  if (shared.over) return;
  const std::lock_guard hold(shared.lock);
  shared.records.add(one, verdict);
  if (verdict.fate != Fate::refused) {
    fmt::print("{:9} {:44} {:16} {:3}/{:3} line {:5} {:5.2f} s | {}\n",
               verdict.fate == Fate::survived ? "SURVIVED" : "BROKEN", one.subject->name,
               one.fault->name, one.site, one.sites, one.line, verdict.seconds, one.was);
    std::fflush(stdout);
  }
  if (Clock::now() - shared.saved > std::chrono::seconds(5)) shared.save();
}

std::vector<std::unique_ptr<Subject>> prove_all(Shared& shared) {
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const std::string& file : kernel_files(shared.flags.files)) {
    auto subject = subject_of(file, shared.flags.root, shared.backend);
    if (subject) {
      subjects.push_back(std::make_unique<Subject>(std::move(*subject)));
    } else {
      fmt::print("takes no part: {}: {}\n", file, subject.error().message);
    }
  }
  on_all(shared, subjects.size(), [&](std::size_t i) { prove(shared, *subjects[i]); });
  std::erase_if(subjects, [](const auto& subject) { return !subject->taken; });
  return subjects;
}

void inject_all(Shared& shared) {
  const auto subjects = prove_all(shared);
  if (!shared.flags.pack.empty()) {
    std::filesystem::create_directories(shared.flags.pack);
    for (const auto& subject : subjects) pack(*subject, shared.flags.pack);
    fmt::print("{} kernels in {}\n", subjects.size(), shared.flags.pack);
    return;
  }
  std::vector<const Subject*> plain;
  for (const auto& subject : subjects) plain.push_back(subject.get());
  std::vector<Injection> all = injections(plain, shared.flags.seed, shared.flags.draw);
  const std::size_t count = all.size();
  std::erase_if(all, [&](const Injection& one) { return shared.records.knows(one); });
  fmt::print("{} kernels, {} mutants, {} to judge\n", plain.size(), count, all.size());
  std::fflush(stdout);
  on_all(shared, all.size(), [&](std::size_t i) { judge_mutant(shared, all[i]); });
  fmt::print("{}{} of {} mutants judged in all, {:.0f} s\n", shared.records.tally(),
             shared.records.mutants(), count, shared.spent());
}

int run(const Flags& flags) {
  BackendOptions options;
  options.compile_cache = flags.cache;
  auto backend = open_backend("virtual:h200", options);
  if (!backend) return fmt::print(stderr, "{}\n", backend.error().message), 4;
  Shared shared{flags, **backend};
  if (!flags.out.empty()) shared.records = Records::read(flags.out);
  std::atomic<bool> done{false};
  std::thread watch([&] {
    while (!done && (flags.seconds <= 0 || shared.spent() < flags.seconds))
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    shared.over = true;
  });
  inject_all(shared);
  done = true;
  watch.join();
  shared.save();
  return 0;
}

}  // namespace
}  // namespace cupilot::mutation

int main(int argc, char** argv) {
  cupilot::mutation::Flags flags;
  CLI::App app{"faults of order, width and rounds put into the PTX of proved kernels"};
  app.add_option("files", flags.files,
                 "kernel files (.cu or .ptx) with plan and task, or folders of them")
      ->required();
  app.add_option("--root", flags.root, "folder from which tasks are named");
  app.add_option("--draw", flags.draw, "as many drawn mutants of a kernel; default: all");
  app.add_option("--seed", flags.seed, "of what is drawn, and of the order");
  app.add_option("--jobs", flags.jobs, "mutants at once");
  app.add_option("--seconds", flags.seconds,
                 "ends then; what is under way is left for another run");
  app.add_option(
      "--out", flags.out,
      "JSON with a row a kernel and a row a mutant; what stands there is not done again");
  app.add_option("--pack", flags.pack, "only writes the proved kernels as PTX to that folder");
  app.add_option("--compile-cache", flags.cache, "folder that keeps compiled references");
  CLI11_PARSE(app, argc, argv);
  return cupilot::mutation::run(flags);
}
