#include "corpus.hpp"
#include "kernel/standalone.hpp"
#include "support/gemm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cupilot/evolve.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

namespace cupilot::hostile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A word or a list of words.
std::vector<std::string> words_of(const Json& row, const char* key) {
  const auto value = row.find(key);
  if (value == row.end()) return {};
  if (value->is_string()) return {value->get<std::string>()};
  return value->get<std::vector<std::string>>();
}

Row row_of(const Json& json, const std::string& manifest) {
  static const std::set<std::string> known = {"file", "expect", "device", "covers",
                                              "note", "task",   "swap",   "says"};
  for (const auto& item : json.items()) {
    if (!known.contains(item.key())) throw std::runtime_error("unknown key " + item.key());
  }
  Row row{json.at("file").get<std::string>(),
          manifest,
          words_of(json, "expect"),
          words_of(json, "device"),
          words_of(json, "covers"),
          json.value("says", ""),
          words_of(json, "task"),
          json.value("swap", std::vector<std::pair<std::string, std::string>>())};
  if (row.expect.empty()) throw std::runtime_error(row.file + " expects nothing");
  if (row.device.empty()) row.device = row.expect;
  return row;
}

void read_manifest(const fs::path& path, Corpus& corpus) {
  std::ifstream in(path);
  const Json json = Json::parse(in);
  if (json.at("version") != 1) throw std::runtime_error("version is not 1");
  for (const Json& row : json.at("cases"))
    corpus.rows.push_back(row_of(row, path.filename().string()));
}

// Task files are named from the repository's root, as on the command line, or from the corpus
// folder.
Result<Task> task_of(const Corpus& corpus, const std::vector<std::string>& words) {
  if (words.empty())
    return Error{ErrorCode::usage, "the kernel's header states no task",
                 "add a `// cupilot:` line"};
  if (words[0] == "gemm") {
    return gemm_of({words.begin() + 1, words.end()});
  }
  const fs::path folder(corpus.folder);
  for (const fs::path& place : {folder / ".." / ".." / words[0], folder / words[0]}) {
    if (fs::exists(place)) return load_task(place.string());
  }
  return load_task(words[0]);
}

Outcome outcome_of(const Result<Candidate>& candidate) {
  if (!candidate) return {"error", candidate.error().message, 0};
  if (const auto* rejected = std::get_if<Rejected>(&candidate->outcome)) {
    return {rejected->code,
            rejected->message + (rejected->where.empty() ? "" : " at " + rejected->where), 0};
  }
  if (const auto* lost = std::get_if<Lost>(&candidate->outcome)) return {"error", lost->reason, 0};
  const auto* accepted = std::get_if<Accepted>(&candidate->outcome);
  return {"accepted",
          accepted == nullptr ? ""
                              : fmt::format("{}", fmt::join(accepted->verification.unproved, "\n")),
          0};
}

}  // namespace

std::string Row::name() const {
  std::string words = task.empty() ? file : fmt::format("{} {}", file, fmt::join(task, " "));
  for (const auto& [from, to] : swap) words += fmt::format(" `{}` for `{}`", to, from);
  return words;
}

Result<Corpus> read_corpus(const std::string& folder) {
  Corpus corpus{folder, {}};
  std::set<fs::path> manifests;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("manifest") && name.ends_with(".json")) manifests.insert(entry.path());
  }
  if (manifests.empty())
    return Error{ErrorCode::usage, folder + " holds no manifest", "name the folder of the corpus"};
  for (const fs::path& path : manifests) {
    try {
      read_manifest(path, corpus);
    } catch (const std::exception& error) {
      return Error{ErrorCode::usage, path.string() + ": " + error.what(), "correct the manifest"};
    }
  }
  std::set<std::string> seen;
  for (const Row& row : corpus.rows) {
    if (!seen.insert(row.name()).second)
      return Error{ErrorCode::usage, row.name() + " stands twice", "keep one row"};
  }
  return corpus;
}

std::vector<std::string> kernel_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path name = entry.path().lexically_relative(folder);
    if (*name.begin() == "tasks" || (name.extension() != ".cu" && name.extension() != ".ptx"))
      continue;
    files.push_back(name.string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<StandaloneKernel> kernel_of(const Corpus& corpus, const Row& row) {
  const std::string path = corpus.folder + "/" + row.file;
  if (row.swap.empty()) return read_standalone(path);
  std::ostringstream read;
  read << std::ifstream(path).rdbuf();
  std::string text = read.str();
  for (const auto& [from, to] : row.swap) {
    std::size_t at = text.find(from);
    if (from.empty() || at == std::string::npos)
      return Error{ErrorCode::usage, row.file + " lacks `" + from + "`", "correct the manifest"};
    for (; at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }
  return standalone_from(text, path);
}

Outcome evaluate_row(const Corpus& corpus, const Row& row, Backend& backend, Backend* screen) {
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome;
  const auto kernel = kernel_of(corpus, row);
  const auto task = kernel ? task_of(corpus, row.task.empty() ? kernel->task_words : row.task)
                           : Result<Task>(kernel.error());
  if (!task) {
    outcome = {"error", task.error().message, 0};
  } else {
    const Pipe pipe{TaskRef(*task), &backend, nullptr, 1, screen};
    outcome = outcome_of(evaluate_source(pipe, kernel->source, ProofLevel::finalist));
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

std::vector<Outcome> evaluate_rows(const Corpus& corpus, const std::vector<Row>& rows,
                                   Backend& backend, const RunOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto time_is_up = [&] {
    return options.seconds > 0 &&
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >
               options.seconds;
  };
  std::vector<Outcome> outcomes(rows.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < rows.size() && !time_is_up(); i = next++) {
      outcomes[i] = evaluate_row(corpus, rows[i], backend, options.screen);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(1, options.jobs); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

bool says_why(const Row& row, const Outcome& outcome) {
  return row.says.empty() || std::regex_search(outcome.message, std::regex(row.says));
}

bool is_allowed(const std::vector<std::string>& allowed, const std::string& code) {
  return std::find(allowed.begin(), allowed.end(), code) != allowed.end() ||
         (code == "accepted" &&
          std::find(allowed.begin(), allowed.end(), "undetected") != allowed.end());
}

}  // namespace cupilot::hostile
