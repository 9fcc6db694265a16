#include "backend/worker/run.hpp"

#include "backend/worker/launch.hpp"

namespace cupilot {

std::string carry_out(CudaSession& session, TimedRunner& visitor, LibrarySteps& library,
                      const RunOrder& order) {
  const bool timed = order.timing.mode != VisitTiming::Mode::once;
  const auto launches = prepare_launches(session, library, order,
                                         timed ? AlgorithmChoice::fastest : AlgorithmChoice::first);
  if (timed) {
    const auto enqueue = [&] {
      clear(session, order.zeroed);
      for (const auto& prepared : launches) launch_one(*prepared);
    };
    return pack(visitor.visit(enqueue, order.poison, order.timing));
  }
  visitor.scrub_shared();
  clear(session, order.zeroed);
  for (const auto& prepared : launches) {
    launch_one(*prepared);
    const CUresult code = driver().cuStreamSynchronize(session.stream());
    if (code != CUDA_SUCCESS) throw CudaFailure{code, "running " + prepared->name};
  }
  return pack(RunAnswer{});
}

}  // namespace cupilot
