#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "table.hpp"

namespace cupilot {
namespace {

// A strategy as one number a site, a site being a technique or one of its parameters; -1: not in
// use.
using Code = std::vector<int>;

class TableSpace final : public Space {
 public:
  TableSpace(const Table& table, std::shared_ptr<const Space> whole)
      : table_(table), whole_(std::move(whole)) {
    for (const Technique& technique : whole_->techniques())
      sites_.emplace(technique.name, sites_.size());
    for (const Knob& knob : whole_->knobs())
      sites_.emplace(knob.technique + '.' + knob.parameter, sites_.size());
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      codes_.push_back(code_of(table.rows[i].strategy));
      by_id_.emplace(table.rows[i].id, i);
    }
  }

  const std::vector<Technique>& techniques() const override { return whole_->techniques(); }
  const std::vector<Knob>& knobs() const override { return whole_->knobs(); }
  bool feasible(const Strategy& strategy) const override {
    return by_id_.count(strategy_id(strategy)) != 0;
  }
  double size() const override { return static_cast<double>(codes_.size()); }

  Result<Completion> complete(const Strategy& wish,
                              const std::vector<std::string>& pinned) const override {
    std::string key = strategy_id(wish);
    if (const auto row = by_id_.find(key); row != by_id_.end())
      return Completion{table_.rows[row->second].strategy, {}};
    key += spelled_out(wish) ? " whole" : " names";
    for (const std::string& name : pinned) key += ' ' + name;
    const auto known = answers_.find(key);
    const std::size_t row = known != answers_.end() ? known->second : nearest(wish, pinned);
    answers_.emplace(std::move(key), row);
    return Completion{table_.rows[row].strategy, {}};
  }

 private:
  std::size_t nearest(const Strategy& wish, const std::vector<std::string>& pinned) const {
    const Code wanted = code_of(spelled_out(wish) ? wish : whole(wish, pinned));
    std::vector<std::size_t> held;
    for (const std::string& name : pinned) {
      if (const auto site = sites_.find(name); site != sites_.end()) held.push_back(site->second);
    }
    std::size_t best = 0;
    double least = INFINITY;
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      const double apart = distance_of(wanted, codes_[i], held, least);
      if (apart >= least) continue;
      least = apart;
      best = i;
    }
    return best;
  }

  // A wish with values is a recorded strategy changed a little: it lacks nothing that tells the
  // recorded ones apart.
  static bool spelled_out(const Strategy& wish) {
    return std::any_of(wish.uses.begin(), wish.uses.end(),
                       [](const Use& use) { return !use.values.empty(); });
  }

  Strategy whole(const Strategy& wish, const std::vector<std::string>& pinned) const {
    auto done = whole_->complete(wish, pinned);
    return done ? std::move(done->strategy) : wish;
  }

  static constexpr double pin = 1000;  // more than all other sites together

  Code code_of(const Strategy& strategy) const {
    Code code(sites_.size(), -1);
    for (const Use& use : strategy.uses) {
      if (const auto site = sites_.find(use.technique); site != sites_.end())
        code[site->second] = 0;
      for (const Knob& knob : whole_->knobs()) {
        if (knob.technique != use.technique) continue;
        const auto value = use.values.find(knob.parameter);
        const std::int64_t held = value == use.values.end() ? knob.fallback : value->second;
        const auto place = std::find(knob.domain.begin(), knob.domain.end(), held);
        code[sites_.at(knob.technique + '.' + knob.parameter)] =
            static_cast<int>(place - knob.domain.begin());
      }
    }
    return code;
  }

  // Exact below `limit`.
  static double distance_of(const Code& a, const Code& b, const std::vector<std::size_t>& held,
                            double limit) {
    double sum = 0;
    for (const std::size_t site : held) sum += a[site] == b[site] ? 0 : pin;
    for (std::size_t site = 0; site < a.size() && sum < limit; ++site) {
      if (a[site] == b[site]) continue;
      const bool one_lacks = a[site] < 0 || b[site] < 0;
      sum += one_lacks ? 1 : 0.5 + 0.1 * std::min(5, std::abs(a[site] - b[site]));
    }
    return sum;
  }

  const Table& table_;
  std::shared_ptr<const Space> whole_;
  std::map<std::string, std::size_t> sites_;
  std::vector<Code> codes_;
  std::unordered_map<std::string, std::size_t> by_id_;
  mutable std::unordered_map<std::string, std::size_t> answers_;  // by wish and pins
};

}  // namespace

std::unique_ptr<Space> table_space(const Table& table, std::shared_ptr<const Space> whole) {
  return std::make_unique<TableSpace>(table, std::move(whole));
}

}  // namespace cupilot
