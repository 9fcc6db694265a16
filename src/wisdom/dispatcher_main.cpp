#include "wisdom/dispatcher_main.hpp"

#include <fmt/format.h>

namespace cupilot {
namespace {

constexpr std::string_view text =
    R"(// Launches the dispatcher for the sizes given and prints the median time, warm. All tensors hold zeros: a look at speed and
// dispatch, no proof. Needs cuda.h: g++ -O2 -std=c++17 main.cpp -I. -I/usr/local/cuda/include -lcuda -ldl -o launch
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "@NAME@.hpp"

#define CHECK(call)                                                                     \
  do {                                                                                  \
    if (const CUresult result_ = (call); result_ != CUDA_SUCCESS) {                     \
      std::fprintf(stderr, "%s: error %d\n", #call, static_cast<int>(result_));         \
      return 1;                                                                         \
    }                                                                                   \
  } while (false)

int main(int count, char** words) {
  if (count != @COUNT@ + 1) return std::fprintf(stderr, "usage: launch @AXES@\n"), 2;
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < count; ++i) sizes.push_back(std::strtoll(words[i], nullptr, 10));
  CHECK(cuInit(0));
  CUdevice device;
  CUcontext context;
  CUstream stream;
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::vector<void*> tensors;
  const std::vector<cupilot::runtime::Int> numbers(sizes.begin(), sizes.end());
  for (const auto bytes : detail_@NAME@::tensor_bytes(numbers.data())) {
    CUdeviceptr memory;
    CHECK(cuMemAlloc(&memory, std::max<std::size_t>(16, static_cast<std::size_t>(bytes.value))));
    CHECK(cuMemsetD8(memory, 0, std::max<std::size_t>(16, static_cast<std::size_t>(bytes.value))));
    tensors.push_back(reinterpret_cast<void*>(memory));
  }
  @NAME@ dispatcher;
  CUevent begin, end;
  CHECK(cuEventCreate(&begin, 0));
  CHECK(cuEventCreate(&end, 0));
  std::vector<float> times;
  for (int round = 0; round < 23; ++round) {
    CHECK(cuEventRecord(begin, stream));
    const auto status = dispatcher.launch(@SIZES@, @TENSORS@, stream);
    if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message.c_str()), 1;
    CHECK(cuEventRecord(end, stream));
    CHECK(cuEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cuEventElapsedTime(&milliseconds, begin, end));
    if (round >= 3) times.push_back(1000 * milliseconds);
  }
  std::sort(times.begin(), times.end());
  std::printf("%s: %.2f us (median of %zu launches, warm L2)\n", dispatcher.used(sizes)->name, times[times.size() / 2], times.size());
}
)";

std::string replaced(std::string out, const std::string& what, const std::string& by) {
  for (std::size_t at = out.find(what); at != std::string::npos;
       at = out.find(what, at + by.size()))
    out.replace(at, what.size(), by);
  return out;
}

}  // namespace

std::string dispatcher_main(const Task& task, const std::string& name) {
  std::string axes, sizes, tensors;
  for (std::size_t i = 0; i < task.axes.size(); ++i) {
    axes += (i == 0 ? "" : " ") + task.axes[i].name;
    sizes += fmt::format("{}sizes[{}]", i == 0 ? "" : ", ", i);
  }
  for (std::size_t i = 0; i < task.tensors.size(); ++i)
    tensors += fmt::format("{}tensors[{}]", i == 0 ? "" : ", ", i);
  std::string out(text);
  for (const auto& [what, by] : {std::pair<std::string, std::string>{"@NAME@", name},
                                 {"@COUNT@", std::to_string(task.axes.size())},
                                 {"@AXES@", axes},
                                 {"@SIZES@", sizes},
                                 {"@TENSORS@", tensors}}) {
    out = replaced(out, what, by);
  }
  return out;
}

}  // namespace cupilot
