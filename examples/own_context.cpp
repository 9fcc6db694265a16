// A GEMM evolved in the CUDA context and on the stream that this program works with already.
// Nothing confines a kernel there: each is proved on a virtual device first, and the evidence says
// that it ran unconfined. build: g++ -std=c++20 own_context.cpp -lcupilot -lcuda, with the
// toolkit's include folder
#include <cupilot/cupilot.hpp>

#include <cstdio>

#include <cuda.h>

namespace {

int fail(const cupilot::Error& error) {
  std::fprintf(stderr, "%s\n  next: %s\n", error.message.c_str(), error.hint.c_str());
  return static_cast<int>(error.code);
}

}  // namespace

int main() {
  CUdevice card = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&card, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, card) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS ||
      cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
    return fail({cupilot::ErrorCode::no_device, "this program has no CUDA context",
                 "run it where there is a GPU"});

  const auto task = cupilot::task_from_words({"gemm", "m=512", "n=512", "k=512", "dtype=bf16"});
  if (!task) return fail(task.error());
  const auto device = cupilot::open_in_process(context, stream);
  if (!device) return fail(device.error());
  const auto report = cupilot::evolve(*task, **device, {.search = {.max_evaluations = 16}});
  if (!report) return fail(report.error());
  const auto& best = std::get<cupilot::Accepted>(report->best->candidate.outcome);
  std::printf("%s\n%.2f us %s; it ran %s\n",
              cupilot::describe(report->best->candidate.strategy).c_str(), best.measurement.time_us,
              std::string(name_of(best.measurement.provenance)).c_str(),
              best.conditions.ran_under.c_str());
  return 0;
}
