// hostile: evaluates the corpus on a device and says where the pipe's answer is not the manifest's. Exit 0: nowhere.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "corpus.hpp"

using namespace cupilot;
using namespace cupilot::hostile;

namespace {

struct Flags {
  std::string folder = CUPILOT_SOURCE_DIR "/tests/hostile", device = "virtual:h200", screen, only, json;
  int jobs = static_cast<int>(std::thread::hardware_concurrency());
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
  app.add_flag("--all", flags.all, "print every row");
  app.parse(argc, argv);
  return flags;
}

std::unique_ptr<Backend> open_or_exit(const std::string& name, const BackendOptions& options) {
  auto opened = open_backend(name, options);
  if (opened) return std::move(*opened);
  fmt::print(stderr, "{}\n", opened.error().message);
  std::exit(static_cast<int>(opened.error().code));
}

nlohmann::ordered_json json_of(const Row& row, const Outcome& outcome, bool right) {
  return {
      {"file", row.name()}, {"code", outcome.code}, {"right", right}, {"message", outcome.message}, {"seconds", outcome.seconds}};
}

int run(const Flags& flags) {
  const auto corpus = read_corpus(flags.folder);
  if (!corpus) {
    fmt::print(stderr, "{}\n", corpus.error().message);
    return static_cast<int>(corpus.error().code);
  }
  const BackendOptions options;
  const auto backend = open_or_exit(flags.device, options);
  const auto screen = flags.screen.empty() ? nullptr : open_or_exit(flags.screen, options);
  // Without the interpreter some things cannot be seen.
  const bool bare = backend->provenance() == Provenance::measured && !screen;
  std::vector<Row> rows;
  for (const Row& row : corpus->rows) {
    if (row.name().find(flags.only) != std::string::npos) rows.push_back(row);
  }
  const std::vector<Outcome> outcomes = evaluate_rows(*corpus, rows, *backend, screen.get(), flags.jobs);
  nlohmann::ordered_json report = {{"device", backend->identity()}, {"screen", flags.screen}, {"cases", nlohmann::json::array()}};
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<std::string>& allowed = bare ? rows[i].device : rows[i].expect;
    const bool right = is_allowed(allowed, outcomes[i].code);
    wrong += right ? 0 : 1;
    report["cases"].push_back(json_of(rows[i], outcomes[i], right));
    if (right && !flags.all) continue;
    fmt::print("{} {}: {} (want {}), {:.2f} s\n  {}\n", right ? "right" : "WRONG", rows[i].name(), outcomes[i].code,
               fmt::join(allowed, " or "), outcomes[i].seconds, outcomes[i].message);
  }
  fmt::print("{} rows on {}{}: {} wrong\n", rows.size(), backend->identity(), screen ? ", screened by " + flags.screen : "",
             wrong);
  if (!flags.json.empty()) std::ofstream(flags.json) << report.dump(1) << "\n";
  return wrong == 0 ? 0 : 1;
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
