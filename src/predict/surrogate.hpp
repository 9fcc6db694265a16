// A Gaussian process over strategies: predicts fitness of what was not tried from what was. Cheap
// next to one evaluation. Similarity of two strategies is a mix of an additive part (each site by
// itself) and a product part (sites together); the mix and the length are chosen by marginal
// likelihood (Rasmussen and Williams 2006, chapter 5). Its mean is a multiple of what was expected
// before anything ran, as far as the outcomes bear it out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <cupilot/parts/space.hpp>

namespace cupilot {

struct FitnessPrediction {
  double mean = 0, deviation = 0;
};

// One slot's strategy and what came of it. Settled without fitness: it was refused and counts as a
// poor one.
struct Observation {
  std::int64_t slot = 0;
  const Strategy* strategy = nullptr;
  bool settled = false;
  std::optional<double> fitness;
  double prior = 0;  // the fitness expected before anything ran
};

class Surrogate {
 public:
  // expected_within: how far outcomes lie from what was expected of them, as a standard deviation;
  // it predicts from the first point on. 0: nothing was expected, and it waits for a few outcomes.
  explicit Surrogate(const Space& space, double expected_within = 0);
  ~Surrogate();
  Surrogate(Surrogate&&) noexcept;

  // Forgets all and chooses hyperparameters anew. O(points^3).
  void fit(const std::vector<Observation>& points);
  // A proposed strategy, result unknown: it lowers the uncertainty near it at once.
  void add_pending(std::int64_t slot, const Strategy& strategy, double prior = 0);
  // Its fitness. Slots it does not hold are ignored.
  void settle(std::int64_t slot, std::optional<double> fitness);
  // Call after settle and before predict.
  void update();
  // True if enough is known to predict at all.
  bool ready() const;
  FitnessPrediction predict(const Strategy& strategy, double prior = 0) const;
  // Log of the gain over `best` to be expected of it (expected improvement; Jones, Schonlau and
  // Welch 1998): what is sure to be as good as the best promises nothing, what may be better does.
  // Without a best (-infinity) its mean. Of one that cannot exceed `mark`, something else that does
  // not: that takes a fraction of the time.
  double promise(const Strategy& strategy, double prior, double best, double mark) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupilot
