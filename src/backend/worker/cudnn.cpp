#include "backend/worker/cudnn.hpp"

#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/worker/cudnn_convolution.hpp"

namespace cupilot {
namespace {

constexpr std::size_t convolution_bytes = 64u << 20;  // of workspace

// Returns the key under which a convolution's algorithm is remembered: everything but addresses.
std::string convolution_key(const ConvolutionOrder& o, bool cold) {
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {}", o.type, o.compute, o.transposed,
                                o.batch, o.channels, o.outputs, o.groups, o.bias.slot >= 0, cold);
  for (const auto& extents : {o.size, o.window, o.places, o.stride, o.padding, o.dilation})
    key += fmt::format(" {} {} {}", extents[0], extents[1], extents[2]);
  return key;
}

}  // namespace

struct LibraryConvolution::State {
  CudaSession& session;
  TimedRunner& visitor;
  std::string file;
  CudnnCalls calls;
  bool opened = false;
  cudnnHandle_t handle = nullptr;
  CUdeviceptr workspace = 0;
  std::map<std::string, CudnnConvolution::Algorithm> best;

  State(CudaSession& with, TimedRunner& by, std::string path)
      : session(with), visitor(by), file(std::move(path)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (workspace != 0) driver().cuMemFree(workspace);
    if (handle != nullptr) calls.cudnnDestroy(handle);
  }

  void open() {
    if (!opened) calls = open_cudnn(file);
    opened = true;
    if (!calls.missing.empty()) throw OrderRefused{0, "cuDNN " + calls.missing};
    if (workspace != 0) return;
    if (handle == nullptr) calls.expect(calls.cudnnCreate(&handle), "creating a handle");
    calls.expect(calls.cudnnSetStream(handle, reinterpret_cast<cudnnStream_t>(session.stream())),
                 "setting the stream");
    check(driver().cuMemAlloc(&workspace, convolution_bytes), "memory for cuDNN");
  }
  CudnnConvolution::Operands operands(const ConvolutionOrder& order) const {
    const auto pointer = [&](const Region& region) {
      return reinterpret_cast<void*>(region.slot < 0 ? 0 : session.address(region));
    };
    return {pointer(order.x), pointer(order.weight), pointer(order.bias), pointer(order.y)};
  }
  void run(const CudnnConvolution& convolution, const ConvolutionOrder& order,
           const CudnnConvolution::Algorithm& algorithm) const {
    convolution.run(handle, algorithm, operands(order), reinterpret_cast<void*>(workspace));
  }
};

LibraryConvolution::LibraryConvolution(CudaSession& session, TimedRunner& visitor, std::string file)
    : state_(new State(session, visitor, std::move(file))) {}
LibraryConvolution::~LibraryConvolution() = default;

ReadyStep LibraryConvolution::ready(const ConvolutionOrder& order,
                                    const std::vector<Region>& poison, bool cold,
                                    AlgorithmChoice choice) {
  State& state = *state_;
  state.open();
  const auto convolution = std::make_shared<const CudnnConvolution>(state.calls, order);
  const std::string key = convolution_key(order, cold);
  ReadyStep made;
  const auto known = state.best.find(key);
  auto algorithm = known == state.best.end() ? std::nullopt : std::optional(known->second);
  if (!algorithm) {
    const auto once = [&](const CudnnConvolution::Algorithm& one) {
      state.run(*convolution, order, one);
    };
    const auto all = convolution->algorithms(state.handle, convolution_bytes);
    algorithm = choice == AlgorithmChoice::first ? first_taken(all, once)
                                                 : fastest(state.visitor, all, once, poison, cold);
    if (!algorithm) throw OrderRefused{0, "cuDNN has no algorithm for this convolution"};
    if (choice == AlgorithmChoice::fastest) state.best.emplace(key, *algorithm);
    made.tried = true;
  }
  made.run = [&state, convolution, order, algorithm = *algorithm] {
    state.run(*convolution, order, algorithm);
  };
  return made;
}

}  // namespace cupilot
