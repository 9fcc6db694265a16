// Evaluates on threads of this process, each job through the pipe.
#pragma once

#include <cupilot/parts/evaluator.hpp>

#include "evolution/evaluate/counting.hpp"
#include "evolution/evaluate/pipe.hpp"
#include "evolution/evaluate/places.hpp"
#include "evolution/evaluate/workers.hpp"

namespace cupilot {

class LocalEvaluator final : public Evaluator {
 public:
  // All that is passed must outlive it. `places`: on the device. `width`: its threads.
  LocalEvaluator(const Pipe& pipe, Host& host, Counting& counting, DevicePlaces& places, int width)
      : pipe_(pipe),
        host_(host),
        counting_(counting),
        places_(places),
        width_(width),
        workers_(host, width) {}
  int capacity() const override { return width_; }
  void submit(EvaluationJob job) override;
  std::vector<Evaluated> collect(double seconds) override { return workers_.collect(seconds); }

 private:
  Evaluated evaluated(const EvaluationJob& job) const;

  const Pipe& pipe_;
  Host& host_;
  Counting& counting_;
  DevicePlaces& places_;
  int width_;
  Workers<Evaluated> workers_;  // last: its threads end first
};

// The number of candidates that a device is worth: half as many again as its compile jobs, so that
// they wait for no result.
int capacity_of(const Backend& backend);

}  // namespace cupilot
