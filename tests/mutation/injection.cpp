#include "injection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cupilot/evolve.hpp>
#include <cupilot/rng.hpp>
#include <filesystem>
#include <fstream>

#include "base/hash.hpp"

namespace cupilot::mutation {
namespace {

using Json = nlohmann::json;

bool has_large_tensor(const Task& task) {
  for (const Workload& shape : task.time_shapes) {
    for (const Tensor& tensor : task.tensors) {
      const auto sized = shape_of(task, tensor, shape);
      if (sized && sized->elements >= (std::int64_t{1} << 31) / 4) return true;
    }
  }
  return false;
}

const char* name_of(Fate fate) {
  static constexpr const char* names[] = {"refused", "equal", "survived", "broken"};
  return names[static_cast<int>(fate)];
}

std::string key_of(const Injection& one) {
  return fmt::format("{} {} {} {}", one.subject->name, one.subject->hash, one.fault->name,
                     one.site);
}

Injection injection_at(const Subject& subject, const PtxOperator& fault, const PtxText& text,
                       const std::vector<Site>& sites, std::size_t i) {
  Injection one{&subject, &fault, static_cast<int>(i), static_cast<int>(sites.size())};
  const std::string& all = text.text();
  const std::size_t at = sites[i].back().begin;
  one.line = 1 + static_cast<int>(
                     std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  // A text put behind an instruction stands at the line's end.
  const std::size_t before = at == 0 ? 0 : all.rfind('\n', at - 1) + 1;
  const std::size_t from = all.find_first_not_of(" \t", before);
  one.was = all.substr(from, all.find('\n', at) - from);
  one.edits = sites[i];
  return one;
}

std::vector<Injection> injections_of(const Subject& subject, std::uint64_t seed, int draw) {
  const PtxText text(subject.source.text);
  std::vector<Injection> own;
  for (const PtxOperator& fault : ptx_operators()) {
    if (fault.needs_large && !subject.is_large) continue;
    const std::vector<Site> sites = fault.sites(text);
    for (std::size_t i = 0; i < sites.size(); ++i)
      own.push_back(injection_at(subject, fault, text, sites, i));
  }
  Rng rng = Rng::of(seed, subject.name, 0);
  for (std::size_t i = own.size(); i > 1; --i)
    std::swap(own[i - 1], own[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
  if (draw > 0 && own.size() > static_cast<std::size_t>(draw))
    own.resize(static_cast<std::size_t>(draw));
  return own;
}

std::string rows(const std::map<std::string, Json>& all) {
  std::string out;
  for (const auto& [key, row] : all) out += (out.empty() ? "  " : ",\n  ") + row.dump();
  return out;
}

}  // namespace

Result<Subject> subject_of(const std::string& path, const std::string& root, Backend& backend) {
  const auto kernel = read_standalone(path);
  if (!kernel) return kernel.error();
  auto task = task_of(root, kernel->task_words);
  if (!task) return task.error();
  Subject subject{std::filesystem::path(path).stem().string(), kernel->task_words, std::move(*task),
                  kernel->source};
  if (subject.source.language == Language::cuda) {
    const auto compiled = backend.compile(subject.source);
    if (!compiled) return Error{ErrorCode::usage, path + ": does not compile", {}};
    subject.source.language = Language::ptx;
    subject.source.text = compiled->ptx;
    // A template's instance has another name in PTX.
    for (PlanLaunch& launch : subject.source.plan.launches) {
      const EntryFacts* entry = find_entry(*compiled, launch.entry);
      if (entry == nullptr && compiled->entries.size() == 1) entry = compiled->entries.data();
      if (entry != nullptr) launch.entry = entry->name;
    }
  }
  subject.is_large = has_large_tensor(subject.task);
  subject.hash = sha256_hex(standalone_text(subject.source, {})).substr(0, 16);
  return subject;
}

std::vector<Injection> injections(const std::vector<const Subject*>& subjects, std::uint64_t seed,
                                  int draw) {
  std::vector<std::vector<Injection>> each;
  std::size_t most = 0;
  for (const Subject* subject : subjects) {
    each.push_back(injections_of(*subject, seed, draw));
    most = std::max(most, each.back().size());
  }
  std::vector<Injection> all;
  for (std::size_t i = 0; i < most; ++i) {
    for (std::vector<Injection>& own : each) {
      if (i < own.size()) all.push_back(std::move(own[i]));
    }
  }
  return all;
}

Records Records::read(const std::string& path) {
  Records out;
  std::ifstream in(path);
  const Json json = Json::parse(in, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return out;
  for (const Json& row : json.value("kernels", Json::array()))
    out.kernels_[row.value("kernel", "") + " " + row.value("text", "")] = row;
  for (const Json& row : json.value("mutants", Json::array())) {
    out.mutants_[fmt::format("{} {} {} {}", row.value("kernel", ""), row.value("text", ""),
                             row.value("operator", ""), row.value("site", 0))] = row;
  }
  return out;
}

bool Records::write(const std::string& path) const {
  {
    std::ofstream out(path + ".part");
    out << "{\"kernels\": [\n"
        << rows(kernels_) << "\n],\n\"mutants\": [\n"
        << rows(mutants_) << "\n]}\n";
    if (!out.flush()) return false;
  }
  std::error_code failed;
  std::filesystem::rename(path + ".part", path, failed);
  return !failed;
}

bool Records::knows(Subject& subject) const {
  const auto found = kernels_.find(subject.name + " " + subject.hash);
  if (found == kernels_.end()) return false;
  subject.reason = found->second.value("said", "");
  subject.taken = subject.reason == "accepted";
  return true;
}

bool Records::knows(const Injection& one) const { return mutants_.contains(key_of(one)); }

void Records::add(const Subject& subject, double seconds) {
  kernels_[subject.name + " " + subject.hash] = {
      {"kernel", subject.name},
      {"text", subject.hash},
      {"said", subject.taken ? "accepted" : subject.reason},
      {"seconds", std::round(seconds * 100) / 100}};
}

void Records::add(const Injection& one, const Verdict& verdict) {
  Json row = {{"kernel", one.subject->name},
              {"text", one.subject->hash},
              {"operator", one.fault->name},
              {"site", one.site},
              {"sites", one.sites},
              {"line", one.line},
              {"was", one.was},
              {"fate", name_of(verdict.fate)},
              {"code", verdict.code},
              {"seconds", std::round(verdict.seconds * 100) / 100}};
  if (verdict.fate == Fate::broken) row["message"] = verdict.message.substr(0, 200);
  mutants_[key_of(one)] = std::move(row);
}

std::string Records::tally() const {
  std::map<std::string, std::map<std::string, int>> counts;
  for (const auto& [key, row] : mutants_) {
    const std::string fate = row.value("fate", "");
    ++counts[row.value("operator", "")][fate];
    ++counts["all"][fate];
  }
  std::string out;
  for (const auto& [name, fates] : counts) {
    out += fmt::format("{:18}", name);
    for (const auto& [fate, count] : fates) out += fmt::format(" {} {};", count, fate);
    out += "\n";
  }
  return out;
}

}  // namespace cupilot::mutation
