// The strategy pool: what worked in earlier runs, in one file, found again by task family, zone,
// shape and words. A pool takes one thread at a time; several processes may hold the same file.
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
  std::string family{};     // of the task: "gemm"
  std::string precision{};  // "bf16"
  std::string device{};     // of the chip: "H200"; of shipped practice the architecture it is known
                            // for: "sm_90a"
  std::optional<Zone> zone{};
  std::string shape{};     // shape_class() of the task
  double log2_gain = 0;    // of the plain baseline's time over this one's; 0: not known
  double floor_share = 0;  // floor / time; 0: not known
  std::vector<StrategyBrief::Effect> effects{};  // of single techniques in that run
  std::string text{};                            // for people, prompts and full-text search
  std::string origin{};  // "measured", "modelled", "reported"; "practice": shipped, never run by
                         // whoever reads it
  std::string task{};    // task_id; "": practice
  std::vector<std::string> tags{};  // of the experiment it comes from
};

struct PoolQuery {
  std::string family{};
  std::string precision{}, device{}, arch{}, shape{};  // empty: no matter
  std::optional<Zone> zone{};
  std::string text{};                       // words, any of which may match
  std::string without_task{};               // leakage guard: entries of this task are not found
  std::vector<std::string> without_tags{};  // nor those with one of these tags
  int limit = 8;
};

// A kernel that some run timed: what forecasts learn from.
struct PoolOutcome {
  Strategy strategy{};
  std::map<std::string, std::int64_t> sizes{};  // of the task's time shape, by axis
  double time_us = 0;
};

struct PoolMatch {
  PoolEntry entry{};
  double score = 0;  // higher: more alike
};

// Sizes of the first time shape by axis in coarse classes: "k=large m=small n=large".
std::string shape_class(const Task& task);
// 0..1: how alike two shape classes are, an axis at a time.
double shape_likeness(const std::string& a, const std::string& b);

class StrategyPool {
 public:
  // A file that does not exist is made, with the shipped practice in it. Error{failure}: it cannot
  // be read or is no pool.
  static Result<StrategyPool> open(const std::string& path);
  ~StrategyPool();
  StrategyPool(StrategyPool&&) noexcept;
  StrategyPool& operator=(StrategyPool&&) noexcept;

  // An entry with the same strategy, task, device, origin and tags is replaced.
  Result<void> add(const PoolEntry& entry);
  // Best match first. Entries of another family are never found.
  Result<std::vector<PoolMatch>> find(const PoolQuery& query) const;
  // Entries; outcomes do not count.
  Result<std::int64_t> size() const;

  // `kind`: all but sizes and strategy that a time depends on. One of the same kind, sizes and
  // strategy is replaced; of a kind the latest 2000 are kept.
  Result<void> add_outcomes(const std::string& kind, std::span<const PoolOutcome> outcomes);
  // At most `limit`, the latest first.
  Result<std::vector<PoolOutcome>> outcomes(const std::string& kind, int limit) const;

 private:
  struct CUPILOT_HIDDEN State;
  explicit StrategyPool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Starting points from published practice, marked "practice": hypotheses that no device confirmed
// here.
Result<std::vector<PoolEntry>> shipped_practice();

}  // namespace cupilot
CUPILOT_EXPORTS_END
