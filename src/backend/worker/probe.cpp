#include "backend/worker/probe.hpp"

#include "backend/wire/body.hpp"
#include "backend/wire/frame.hpp"
#include "backend/worker/library.hpp"
#include "backend/worker/process.hpp"
#include "backend/worker/roles.hpp"

namespace cupilot {
namespace {

ProbedLibrary probe_library(const std::vector<std::string>& names) {
  const OpenedLibrary library = open_library(names);
  return {library.handle != nullptr, library.handle != nullptr ? library.path : library.reason};
}

}  // namespace

std::string pack(const Probe& probe) {
  BodyWriter out;
  for (const ProbedLibrary* library : {&probe.cublaslt, &probe.cudnn, &probe.cupti})
    out.put(library->found).put(library->detail);
  return out.take();
}

std::optional<Probe> unpack_probe(std::string_view body) {
  BodyReader in(body);
  Probe probe;
  for (ProbedLibrary* library : {&probe.cublaslt, &probe.cudnn, &probe.cupti}) {
    library->found = in.get<bool>();
    library->detail = in.text();
  }
  if (!in.whole()) return std::nullopt;
  return probe;
}

int serve_probe(const std::vector<std::string>& cudnn) {
  const Probe probe{probe_library({"libcublasLt.so.13", "libcublasLt.so.12"}), probe_library(cudnn),
                    probe_library({"libcupti.so.13", "libcupti.so.12"})};
  return std::holds_alternative<std::monostate>(
             send_frame(worker_channel, {1, 0, pack(probe), {}}, deadline_in(10)))
             ? 0
             : 1;
}

}  // namespace cupilot
