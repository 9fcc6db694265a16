// A host's own CUDA context and stream as a device; nothing confines a kernel there.
#pragma once

#include <memory>

#include <cupilot/backend.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// Proves and times kernels in `context` (a CUcontext) on `stream` (a CUstream or cudaStream_t of
// that context, no default stream: graphs are captured from it). Times are `measured`, by events of
// that stream under the same rounds and checks as on cuda:N; TrialReport::confinement begins with
// "unconfined". Sources are still compiled in confined worker processes and gated.
// The host owns both handles, which must outlive the backend, and keeps the stream idle during
// calls. Calls make the context current for their own duration, wait for the stream, and allocate
// only memory, modules and events, which the backend frees; cold timing evicts lines that the host
// made persistent in L2. The host's cuBLASLt is the baseline where the loader finds one.
// trial_seconds is ignored: the backend waits for a kernel that never ends. A kernel that faults
// ends the context; every later call is an Error no_device. evolve() therefore screens candidates
// on a virtual device first (EvolveOptions::screening).
// Errors: usage (no context, a default stream, a stream of another context), no_device (no driver
// in this process), toolchain.
Result<std::unique_ptr<Backend>> open_in_process(void* context, void* stream,
                                                 const BackendOptions& options = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
