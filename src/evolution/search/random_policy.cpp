#include <deque>
#include <set>

#include <cupilot/parts/policy.hpp>

namespace cupilot {
namespace {

constexpr std::uint64_t draws = 256;

// Draws uniformly; where draws find nothing new, walks on from the last one over what was tried.
class RandomPolicy final : public Policy {
 public:
  explicit RandomPolicy(const Space& space) : space_(space) {}

  Result<std::optional<Proposal>> propose(const PolicyView& view, Rng rng) override {
    Proposal proposal;
    proposal.kind = BreedKind::explore;
    for (std::uint64_t draw = 0; draw < draws; ++draw) {
      proposal.strategy = sample(space_, rng.fork(draw));
      if (!view.tried(strategy_id(proposal.strategy))) return std::optional(std::move(proposal));
    }
    auto beside = nearest_untried(view, proposal.strategy);
    if (!beside) return std::optional<Proposal>();
    proposal.strategy = std::move(*beside);
    return std::optional(std::move(proposal));
  }
  void accept(const Proposal&) override {}
  void observe(const SlotOutcome&) override {}
  std::string save() const override { return ""; }
  bool load(std::string_view saved) override { return saved.empty(); }

 private:
  std::optional<Strategy> nearest_untried(const PolicyView& view, const Strategy& from) const {
    std::set<std::string> met = {strategy_id(from)};
    std::deque<Strategy> waiting = {from};
    for (; !waiting.empty(); waiting.pop_front()) {
      for (Strategy& beside : neighbours(space_, waiting.front())) {
        const std::string id = strategy_id(beside);
        if (!view.tried(id)) return std::move(beside);
        if (met.insert(id).second) waiting.push_back(std::move(beside));
      }
    }
    return std::nullopt;
  }

  const Space& space_;
};

}  // namespace

std::unique_ptr<Policy> random_policy(const Space& space) {
  return std::make_unique<RandomPolicy>(space);
}

}  // namespace cupilot
