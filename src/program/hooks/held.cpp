#include "program/hooks/held.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "program/hooks/stage_text.hpp"

namespace cupilot {
namespace {

class HeldText : public StageText {
 public:
  HeldText(const Task& task, const GraphSite& site) : StageText(task, site) {}

  HeldElements elements() const {
    HeldElements out;
    std::vector<int> order = all_stages();
    if (!site_.folds.empty()) {
      order.clear();
      for (const int fold : site_.folds) needed(fold, order);
    }
    out.tensors = held(order);
    out.values = static_cast<std::int64_t>(out.tensors.size());
    if (out.values > 1 && !site_.folds.empty() && meet(out.tensors)) out.values = 1;
    return out;
  }

 private:
  // True if folds and outputs read the tensors through one stage.
  bool meet(const std::set<std::string>& tensors) const {
    std::vector<int> readers = outputs(StagePlace::full);
    readers.insert(readers.end(), site_.folds.begin(), site_.folds.end());
    const auto stages = all_stages();
    return std::any_of(stages.begin(), stages.end(), [&](int one) {
      std::map<int, bool> known;
      return stage(one).kind == StageKind::map &&
             std::none_of(readers.begin(), readers.end(),
                          [&](int reader) { return passes_by(reader, one, tensors, known); });
    });
  }

  // True if `number` reads a tensor otherwise than through stage `one`. `known`: of stages asked.
  bool passes_by(int number, int one, const std::set<std::string>& tensors,
                 std::map<int, bool>& known) const {
    if (number == one) return false;
    if (const auto at = known.find(number); at != known.end()) return at->second;
    const auto& reads = sited(number).reads;
    return known[number] = std::any_of(reads.begin(), reads.end(), [&](const SiteRead& read) {
             if (read.kind != Kind::element) return false;
             if (read.stage < 0) return tensors.contains(read.source);
             return stage(read.stage).kind == StageKind::map &&
                    passes_by(read.stage, one, tensors, known);
           });
  }
};

}  // namespace

HeldElements held_elements(const Task& task, const GraphSite& site) {
  return HeldText(task, site).elements();
}

}  // namespace cupilot
