#include "backend/worker/library_steps.hpp"

namespace cupilot {

ReadyStep LibrarySteps::ready(const StepOrder& order, const std::vector<Region>& poison, bool cold,
                              AlgorithmChoice choice) {
  return order.library == StepOrder::cudnn
             ? convolutions_.ready(order.convolution, poison, cold, choice)
             : products_.ready(order.product, poison, cold, choice);
}

std::function<void()> LibrarySteps::ready(const StepOrder& order, AlgorithmChoice choice) {
  ReadyStep made = ready(order, {}, true, choice);
  const bool cudnn = order.library == StepOrder::cudnn;
  if (made.tried)
    initialise(session_, cudnn ? order.convolution.y : order.product.d, FillState::poison);
  return std::move(made.run);
}

RunAnswer LibrarySteps::visit(const LibraryVisit& visit) {
  const ReadyStep made =
      ready(visit.order, visit.poison, visit.order.timing.cold, AlgorithmChoice::fastest);
  return visitor_.visit(made.run, visit.poison, visit.order.timing);
}

}  // namespace cupilot
