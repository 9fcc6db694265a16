// The strategy pool: results of earlier runs in one file, searchable by task family, zone, shape
// and words. One thread at a time; several processes may hold the same file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/task.hpp>
#include <cupilot/verdict.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct PoolEntry {
  Strategy strategy{};
  std::string family{};     // the task's: "gemm"
  std::string precision{};  // "bf16"
  // The chip: "H200"; for shipped practice the architecture that it is known for: "sm_90a".
  std::string device{};
  std::optional<Zone> zone{};
  std::string shape{};     // shape_class() of the task
  double log2_gain = 0;    // log2 of plain baseline's time / this one's; 0: unknown
  double floor_share = 0;  // floor / time; 0: unknown
  std::vector<StrategyBrief::Effect> effects{};  // effects of single techniques in that run
  std::string text{};                            // text for people, prompts and full-text search
  // The proved kernel, its plan in front, and the text of the reference that it was proved against;
  // "": it is not kept.
  std::string kernel{}, computes{};
  // "measured", "modelled", "reported"; "practice": shipped, never run on the reader's machine.
  std::string origin{};
  std::string task{};               // task_id; "": practice
  std::vector<std::string> tags{};  // tags of its experiment
};

struct PoolQuery {
  std::string family{}, precision{}, device{}, arch{}, shape{};  // empty: any
  bool with_kernel = false;  // finds only entries that hold a kernel
  std::optional<Zone> zone{};
  std::string text{};                       // words, at least one of which must match
  std::string without_task{};               // leakage guard: excludes entries of this task
  std::vector<std::string> without_tags{};  // excludes entries with one of these tags
  int limit = 8;
};

// A kernel that some run timed; predictions learn from these.
struct PoolOutcome {
  Strategy strategy{};
  std::map<std::string, std::int64_t> sizes{};  // sizes of the task's time shape, by axis
  double time_us = 0;
};

struct PoolMatch {
  PoolEntry entry{};
  double score = 0;  // higher: more similar
};

// Returns the sizes of the first time shape by axis in coarse classes: "k=large m=small n=large".
std::string shape_class(const Task& task);
// Returns the similarity of two shape classes, compared axis by axis, 0..1.
double shape_likeness(const std::string& a, const std::string& b);

class StrategyPool {
 public:
  // Opens a pool; creates a missing file with the shipped practice in it. Error{failure}: the file
  // cannot be read or is no pool.
  static Result<StrategyPool> open(const std::string& path);
  ~StrategyPool();
  StrategyPool(StrategyPool&&) noexcept;
  StrategyPool& operator=(StrategyPool&&) noexcept;

  // Adds an entry; replaces one with the same strategy, task, device, origin and tags.
  Result<void> add(const PoolEntry& entry);
  // Finds entries of the query's family, best match first.
  Result<std::vector<PoolMatch>> find(const PoolQuery& query) const;
  // Returns the number of entries, without outcomes.
  Result<std::int64_t> size() const;

  // Adds outcomes. `kind`: everything that a time depends on besides sizes and strategy. Replaces
  // outcomes of the same kind, sizes and strategy; keeps the latest 2000 of a kind.
  Result<void> add_outcomes(const std::string& kind, std::span<const PoolOutcome> outcomes);
  // Returns at most `limit` outcomes, the latest first.
  Result<std::vector<PoolOutcome>> outcomes(const std::string& kind, int limit) const;

 private:
  struct CUPILOT_HIDDEN State;
  explicit StrategyPool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns starting points from published practice, marked "practice": hypotheses that no device
// confirmed here.
Result<std::vector<PoolEntry>> shipped_practice();

}  // namespace cupilot
CUPILOT_EXPORTS_END
