// hostile: evaluates the corpus on a device and says where the pipe's answer is not the manifest's.
// Exit 0: nowhere.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "corpus.hpp"

using namespace cupilot;
using namespace cupilot::hostile;

namespace {

struct Flags {
  std::string folder = CUPILOT_SOURCE_DIR "/tests/hostile", device = "virtual:h200", screen, only,
              json;
  int jobs = static_cast<int>(std::thread::hardware_concurrency());
  double seconds = 0;
  bool all = false;
};

Flags read_flags(CLI::App& app, int argc, char** argv) {
  Flags flags;
  app.add_option("folder", flags.folder, "the corpus")->capture_default_str();
  app.add_option("--device", flags.device, "cuda:N or virtual:CHIP")->capture_default_str();
  app.add_option("--screen", flags.screen, "a virtual device that is asked first");
  app.add_option("--only", flags.only, "rows whose name holds this text");
  app.add_option("--json", flags.json, "write every outcome there");
  app.add_option("--jobs", flags.jobs, "rows at a time")->capture_default_str();
  app.add_option("--seconds", flags.seconds, "begin no row later than that");
  app.add_flag("--all", flags.all, "print every row");
  app.parse(argc, argv);
  return flags;
}

std::unique_ptr<Backend> open_or_exit(const std::string& name) {
  BackendOptions limits;
  limits.compile_seconds = 15;  // bombs end at two thirds of it
  auto opened = open_backend(name, limits);
  if (opened) return std::move(*opened);
  fmt::print(stderr, "{}\n", opened.error().message);
  std::exit(static_cast<int>(opened.error().code));
}

std::vector<Row> chosen(const Corpus& corpus, const std::string& only) {
  std::vector<Row> rows;
  for (const Row& row : corpus.rows) {
    if (row.name().find(only) != std::string::npos) rows.push_back(row);
  }
  return rows;
}

// What was found, row by row, and how often it was not what the manifest says.
struct Findings {
  nlohmann::ordered_json cases = nlohmann::ordered_json::array();
  int wrong = 0;
};

void add(Findings& findings, const Row& row, const Outcome& outcome,
         const std::vector<std::string>& allowed, bool why, bool print_all) {
  const bool right = is_allowed(allowed, outcome.code) && (!why || says_why(row, outcome));
  findings.wrong += right ? 0 : 1;
  findings.cases.push_back({{"file", row.name()},
                            {"code", outcome.code},
                            {"right", right},
                            {"message", outcome.message},
                            {"seconds", outcome.seconds}});
  if (right && !print_all) return;
  fmt::print("{} {}: {} (want {}), {:.2f} s\n  {}\n", right ? "right" : "WRONG", row.name(),
             outcome.code, fmt::join(allowed, " or "), outcome.seconds, outcome.message);
}

// A screen refuses what it sees, but times nothing and stops at its budget: that and the rest is
// left to the device, which alone refuses in its own words.
std::vector<std::string> screened(const Row& row) {
  const auto timed = [](const std::string& code) { return code.starts_with("measure."); };
  const bool unseen = std::all_of(row.expect.begin(), row.expect.end(), timed) ||
                      std::count(row.expect.begin(), row.expect.end(), "run.budget") > 0;
  std::vector<std::string> allowed = row.expect;
  for (const std::string& code : row.device) {
    if (unseen || (code != "undetected" && code != "accepted")) allowed.push_back(code);
  }
  return allowed;
}

int run(const Flags& flags) {
  const auto corpus = read_corpus(flags.folder);
  if (!corpus) {
    fmt::print(stderr, "{}\n", corpus.error().message);
    return static_cast<int>(corpus.error().code);
  }
  const auto backend = open_or_exit(flags.device);
  const auto screen = flags.screen.empty() ? nullptr : open_or_exit(flags.screen);
  // Without the interpreter some things cannot be seen.
  const bool measured = backend->provenance() == Provenance::measured;
  const auto allowed = [&](const Row& row) {
    return !measured ? row.expect : screen ? screened(row) : row.device;
  };
  const std::vector<Row> rows = chosen(*corpus, flags.only);
  const std::vector<Outcome> outcomes =
      evaluate_rows(*corpus, rows, *backend, {screen.get(), flags.jobs, flags.seconds});
  Findings findings;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!outcomes[i].code.empty())
      add(findings, rows[i], outcomes[i], allowed(rows[i]), !measured, flags.all);
  }
  fmt::print("{} of {} rows on {}{}: {} wrong\n", findings.cases.size(), rows.size(),
             backend->identity(), screen ? ", screened by " + flags.screen : "", findings.wrong);
  const nlohmann::ordered_json report = {{"device", backend->identity()},
                                         {"screen", flags.screen},
                                         {"rows", rows.size()},
                                         {"cases", findings.cases}};
  if (!flags.json.empty()) std::ofstream(flags.json) << report.dump(1) << "\n";
  return findings.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("evaluates hostile and honest kernels and compares with what their manifests say");
  try {
    return run(read_flags(app, argc, argv));
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
}
