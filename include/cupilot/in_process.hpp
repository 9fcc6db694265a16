// A host's own CUDA context and stream as a device, where nothing stands between a kernel and the
// host.
#pragma once

#include <memory>

#include <cupilot/backend.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// Proves and times kernels in `context` (a CUcontext) on `stream` (a CUstream or cudaStream_t of
// that context, no default stream: graphs are captured from it). Times are `measured`, by events of
// that stream under the same rounds and checks as on cuda:N; TrialReport::confinement begins with
// "unconfined". Sources are still compiled in confined worker processes and gated.
//
// Both handles stay the host's and outlive the backend. Calls make the context current for their
// own duration, wait for the stream, and put nothing into the context but memory, modules and
// events, which go back with the backend; lines that the host asked L2 to keep are let go before
// cold times. The host keeps the stream idle meanwhile. Its cuBLASLt is the baseline where the
// loader finds one. trial_seconds is not kept: a kernel that never ends is waited for. A kernel
// that faults ends the context, as any launch of the host's could; every later call is an Error
// no_device. evolve() therefore screens candidates on a virtual device first
// (EvolveOptions::screening).
//
// Errors: usage (no context, a default stream, a stream of another context), no_device (no driver
// in this process), toolchain.
Result<std::unique_ptr<Backend>> open_in_process(void* context, void* stream,
                                                 const BackendOptions& options = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
