// Runs the campaign on the virtual device and fails when a mutant that is not argued away survives.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <map>
#include <thread>

#include "campaign.hpp"
#include "support/sample.hpp"

namespace cupilot::mutation {
namespace {

struct Flags {
  std::string list = CUPILOT_SOURCE_DIR "/tests/mutation/campaign.json";
  std::uint64_t seed = 1;
  int jobs = 2;
  bool every = false, verbose = false;
  std::string only{};
};

bool is_argued(const Campaign& campaign, const Mutant& mutant) {
  for (const Equivalent& row : campaign.equivalent) {
    if (row.kernel == mutant.kernel && row.fault == mutant.fault && row.site == mutant.site)
      return true;
  }
  return false;
}

const char* name_of(Fate fate) {
  static constexpr const char* names[] = {"refused", "equal", "SURVIVED", "BROKEN"};
  return names[static_cast<int>(fate)];
}

std::vector<Verdict> judge_all(const std::vector<Mutant>& all, Backend& backend, int jobs) {
  const std::string root = CUPILOT_SOURCE_DIR;
  std::vector<Verdict> verdicts(all.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      const auto original = read_standalone(root + "/tests/hostile/honest/" + all[i].kernel);
      if (original) verdicts[i] = judge(root, all[i], original->source, backend);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(1, jobs); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return verdicts;
}

int report(const Campaign& campaign, const std::vector<Mutant>& all,
           const std::vector<Verdict>& verdicts, bool verbose) {
  std::map<std::string, int> tally;
  int bad = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Mutant& mutant = all[i];
    const Verdict& verdict = verdicts[i];
    seconds += verdict.seconds;
    const bool argued = verdict.fate == Fate::survived && is_argued(campaign, mutant);
    ++tally[argued ? "argued equivalent" : name_of(verdict.fate)];
    const bool wrong = (verdict.fate == Fate::survived && !argued) || verdict.fate == Fate::broken;
    bad += wrong ? 1 : 0;
    if (!wrong && !verbose) continue;
    fmt::print("{:9} {:28} {:20} site {}/{} {:22} {:.2f}s | {}\n", name_of(verdict.fate),
               mutant.kernel, mutant.fault, mutant.site, mutant.sites, verdict.code,
               verdict.seconds, mutant.line);
    if (wrong && !verdict.message.empty()) fmt::print("          {}\n", verdict.message);
  }
  fmt::print("{} mutants in {:.0f} s of work:", all.size(), seconds);
  for (const auto& [what, count] : tally) fmt::print(" {} {};", count, what);
  fmt::print("\n");
  return bad == 0 ? 0 : 1;
}

int run(const Flags& flags) {
  auto campaign = read_campaign(flags.list);
  if (!campaign) return fmt::print(stderr, "{}\n", campaign.error().message), 4;
  if (!flags.only.empty()) campaign->kernels = {flags.only};
  auto all =
      mutants(*campaign, CUPILOT_SOURCE_DIR "/tests/hostile/honest", flags.seed, flags.every);
  if (!all) return fmt::print(stderr, "{}\n", all.error().message), 4;
  std::erase_if(*all, [](const Mutant& mutant) {
    return !testing::is_drawn(mutant.kernel + mutant.fault + std::to_string(mutant.site));
  });
  auto backend = open_backend("virtual:h200");
  if (!backend) return fmt::print(stderr, "{}\n", backend.error().message), 4;
  return report(*campaign, *all, judge_all(*all, **backend, flags.jobs), flags.verbose);
}

}  // namespace
}  // namespace cupilot::mutation

int main(int argc, char** argv) {
  cupilot::mutation::Flags flags;
  CLI::App app{"small faults put into honest kernels, all of which the pipe must find"};
  app.add_option("--list", flags.list, "kernels, and mutants argued to be equivalent");
  app.add_option("--seed", flags.seed, "of the places");
  app.add_option("--jobs", flags.jobs, "mutants at once");
  app.add_option("--kernel", flags.only, "this kernel alone");
  app.add_flag("--every", flags.every, "every place of every operator");
  app.add_flag("--verbose", flags.verbose, "a line a mutant");
  CLI11_PARSE(app, argc, argv);
  return cupilot::mutation::run(flags);
}
