#include "campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cupilot/evolve.hpp>
#include <cupilot/rng.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "operators.hpp"
#include "support/gemm.hpp"

namespace cupilot::mutation {
namespace {

std::string line_at(const std::string& text, std::size_t at) {
  const std::size_t before = text.rfind('\n', at);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

Mutant mutant_at(const std::string& kernel, const KernelSource& original, const Operator& fault,
                 const std::vector<Site>& sites, std::size_t at) {
  Mutant mutant{kernel,   fault.name, static_cast<int>(at), static_cast<int>(sites.size()),
                original, {}};
  mutant.source.text = apply(original.text, sites[at]);
  const Edit& edit = sites[at].back();
  const std::size_t shift = mutant.source.text.size() - original.text.size();
  mutant.line = line_at(mutant.source.text, edit.end + shift - 1);
  return mutant;
}

// PTX that differs in nothing but names and debug information.
Result<bool> same_code(Backend& backend, const KernelSource& a, const KernelSource& b) {
  const auto one = backend.compile(a), two = backend.compile(b);
  if (one.is_error()) return one.error();
  if (two.is_error()) return two.error();
  if (!one || !two) return false;
  return one->facts.normalized_hash == two->facts.normalized_hash;
}

}  // namespace

Result<Task> task_of(const std::string& root, const std::vector<std::string>& words) {
  if (words.empty())
    return Error{ErrorCode::usage, "the kernel's header states no task",
                 "add a `// cupilot:` line"};
  const bool from_root = !words[0].starts_with('/');
  if (words[0] != "gemm") return load_task((from_root ? root + "/" : "") + words[0]);
  return gemm_of({words.begin() + 1, words.end()});
}

Result<Campaign> read_campaign(const std::string& path) {
  Campaign campaign;
  try {
    std::ifstream in(path);
    const auto json = nlohmann::json::parse(in);
    campaign.kernels = json.at("kernels").get<std::vector<std::string>>();
    for (const auto& row : json.at("equivalent")) {
      campaign.equivalent.push_back(
          {row.at("kernel"), row.at("operator"), row.at("site"), row.at("argument")});
    }
  } catch (const std::exception& error) {
    return Error{ErrorCode::usage, path + ": " + error.what(), "correct the list"};
  }
  return campaign;
}

Result<std::vector<Mutant>> mutants(const Campaign& campaign, const std::string& folder,
                                    std::uint64_t seed, bool every) {
  std::vector<Mutant> all;
  for (const std::string& kernel : campaign.kernels) {
    const auto original = read_standalone(folder + "/" + kernel);
    if (!original) return original.error();
    const SourceText text(original->source.text);
    std::uint64_t number = 0;
    for (const Operator& fault : operators()) {
      const std::vector<Site> sites = fault.sites(text);
      if (sites.empty()) {
        return Error{ErrorCode::usage, fmt::format("{} has no place for {}", kernel, fault.name),
                     "choose another kernel"};
      }
      const auto count = static_cast<std::int64_t>(sites.size());
      const auto drawn = static_cast<std::size_t>(Rng::of(seed, kernel, number++).below(count));
      for (std::size_t at = every ? 0 : drawn; at < (every ? sites.size() : drawn + 1); ++at) {
        all.push_back(mutant_at(kernel, original->source, fault, sites, at));
      }
    }
  }
  return all;
}

Verdict judge_source(const Task& task, const KernelSource& source, Backend& backend) {
  const auto begin = std::chrono::steady_clock::now();
  Verdict verdict;
  const auto candidate =
      evaluate_source({TaskRef(task), &backend, nullptr, 1}, source, ProofLevel::finalist);
  if (!candidate) return {Fate::broken, "error", candidate.error().message, 0};
  if (const auto* rejected = std::get_if<Rejected>(&candidate->outcome)) {
    const bool shows_nothing =
        rejected->stage == Stage::compile || rejected->code == "run.unsupported";
    verdict = {shows_nothing ? Fate::broken : Fate::refused, rejected->code, rejected->message, 0};
  } else if (std::holds_alternative<Accepted>(candidate->outcome)) {
    verdict = {Fate::survived, "accepted", "", 0};
  }
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return verdict;
}

Verdict judge(const std::string& root, const Mutant& mutant, const KernelSource& original,
              Backend& backend) {
  const auto kernel = read_standalone(root + "/tests/hostile/honest/" + mutant.kernel);
  const auto task = kernel ? task_of(root, kernel->task_words) : Result<Task>(kernel.error());
  if (!task) return {Fate::broken, "error", task.error().message, 0};
  Verdict verdict = judge_source(*task, mutant.source, backend);
  if (verdict.fate != Fate::survived) return verdict;
  const auto same = same_code(backend, mutant.source, original);
  if (!same) return {Fate::broken, "error", same.error().message, 0};
  if (*same) verdict.fate = Fate::equal;
  return verdict;
}

}  // namespace cupilot::mutation
