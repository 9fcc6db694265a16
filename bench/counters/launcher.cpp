#include "launcher.hpp"

#include "base/embedded.hpp"

namespace cupilot {
std::span<const EmbeddedFile> peaks_files();
}

namespace counters {

Launcher::Launcher(const std::vector<std::uint8_t>& image) {
  check(driver().cuModuleLoadDataEx(&module_, image.data(), 0, nullptr, nullptr),
        "loading the kernels of the peaks");
  move(far_bytes);
}

void Launcher::move(std::int64_t bytes) {
  check(driver().cuMemAlloc(&memory_, static_cast<std::size_t>(bytes)), "cuMemAlloc");
  launch("fill_random", {bytes, 1, 1024, 512, 0});
}

double Launcher::burst(const char* entry, const Shape& shape, int count) {
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, module_, entry), entry);
  if (shape.shared > 0) {
    check(driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      shape.shared),
          "asking for shared memory");
  }
  std::int64_t bytes = shape.bytes, rounds = shape.rounds;
  void* arguments[] = {&memory_, &bytes, &rounds};
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(shape.blocks);
  config.blockDimX = static_cast<unsigned>(shape.threads);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(shape.shared);
  Stopwatch watch;
  for (int i = 0; i < count; ++i)
    check(driver().cuLaunchKernelEx(&config, function, arguments, nullptr), entry);
  check(driver().cuCtxSynchronize(), entry);
  return watch.lap();
}

CUcontext take_context(int& sms) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  check(driver().cuInit(0), "cuInit");
  check(driver().cuDeviceGet(&device, 0), "cuDeviceGet");
  check(driver().cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
        "cuDeviceGetAttribute");
  check(driver().cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(driver().cuCtxSetCurrent(context), "cuCtxSetCurrent");
  return context;
}

Result<std::vector<std::uint8_t>> image_with(CompilePool& pool, const std::string& more) {
  CompileRequest request;
  for (const EmbeddedFile& file : peaks_files()) request.text += std::string(file.text) + "\n";
  request.text += more;
  request.arch = "sm_90a";
  auto output = pool.compile(request);
  if (output.is_error()) return output.error();
  if (output.is_rejected()) return Error{ErrorCode::failure, output.rejected().message, ""};
  return std::move(output->cubin);
}

Result<std::vector<double>> counted(RangeCounters& ranges, Launcher& launcher, const char* entry,
                                    const Shape& shape, const std::vector<std::string>& metrics,
                                    nlohmann::json& steps) {
  Stopwatch watch;
  if (auto chosen = ranges.choose(metrics, 1); !chosen) return chosen.error();
  const double chose = watch.lap();
  auto values = ranges.collect([&] {
    launcher.launch(entry, shape);
    ranges.begin();
    launcher.launch(entry, shape);
    ranges.end();
  });
  if (!values) return values.error();
  if (values->size() != 1) return Error{ErrorCode::failure, "the profiler lost a launch", ""};
  steps.push_back({{"kernel", entry},
                   {"metrics", metrics.size()},
                   {"passes", ranges.passes()},
                   {"choose_s", chose},
                   {"collect_s", watch.lap()}});
  return values->front();
}

}  // namespace counters
