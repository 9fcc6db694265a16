#include "hardware.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "backend/counters/counters.hpp"
#include "backend/worker/driver.hpp"
#include "ptx/machine/tensor_map.hpp"

namespace counters {
namespace {

constexpr std::size_t flush_bytes = 256u << 20;

// Reading leaves no dirty lines behind, as clearing would.
constexpr const char* flush_text = R"(
extern "C" __global__ void flush(const uint4* data, uint4* sink, unsigned count) {
  uint4 sum = {0, 0, 0, 0};
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const uint4 v = data[i];
    sum.x ^= v.x, sum.y ^= v.y, sum.z ^= v.z, sum.w ^= v.w;
  }
  if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x12345) *sink = sum;
}
)";

struct Placed {
  const ptx::Buffer* buffer = nullptr;
  CUdeviceptr now = 0, before = 0;
};

struct Loaded {
  const BenchSubject* subject = nullptr;
  CUmodule module = nullptr;
  std::vector<Placed> buffers;
  std::vector<std::vector<std::uint8_t>> parameters;  // of each order, in device addresses
};

CUtensorMap encoded(const ptx::TensorMap& map, CUdeviceptr base) {
  using T = ptx::Type;
  const std::vector<std::pair<T, CUtensorMapDataType>> types = {
      {T::u8, CU_TENSOR_MAP_DATA_TYPE_UINT8},    {T::u16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
      {T::u32, CU_TENSOR_MAP_DATA_TYPE_UINT32},  {T::s32, CU_TENSOR_MAP_DATA_TYPE_INT32},
      {T::u64, CU_TENSOR_MAP_DATA_TYPE_UINT64},  {T::s64, CU_TENSOR_MAP_DATA_TYPE_INT64},
      {T::f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16}, {T::f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
      {T::f64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64}, {T::bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16}};
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  for (const auto& [ours, theirs] : types) type = ours == map.type ? theirs : type;
  const auto swizzle = map.swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                       : map.swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                       : map.swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                           : CU_TENSOR_MAP_SWIZZLE_NONE;
  std::vector<cuuint64_t> dims(map.dims.begin(), map.dims.end()),
      pitch(map.pitch.begin(), map.pitch.end());
  CUtensorMap out{};
  check(driver().cuTensorMapEncodeTiled(
            &out, type, map.rank, reinterpret_cast<void*>(base), dims.data(), pitch.data(),
            map.box.data(), map.step.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
            CU_TENSOR_MAP_L2_PROMOTION_NONE,
            map.fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                         : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  return out;
}

CUdeviceptr translated(const Loaded& loaded, std::uint64_t address) {
  for (const Placed& p : loaded.buffers) {
    if (address >= p.buffer->address &&
        address < p.buffer->address + std::max<std::uint64_t>(p.buffer->bytes, 1))
      return p.now + (address - p.buffer->address);
  }
  return 0;
}

// Pointers and tensor maps of the interpreter's memory become the device's. No other parameter
// looks like such a pointer.
std::vector<std::uint8_t> translate(const Loaded& loaded, const Order& order,
                                    const ptx::ParameterLayout& layout) {
  std::vector<std::uint8_t> block = order.launch.parameters;
  for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
    const std::size_t at = layout.offsets[i],
                      end = i + 1 < layout.offsets.size() ? layout.offsets[i + 1] : layout.bytes;
    std::uint64_t value = 0;
    if (end - at >= 128) {
      if (const auto map = ptx::decode_map({block.data() + at, 128})) {
        const CUtensorMap made = encoded(*map, translated(loaded, map->address));
        std::memcpy(block.data() + at, &made, 128);
      }
    } else if (end - at >= 8) {
      std::memcpy(&value, block.data() + at, 8);
      if (const CUdeviceptr there = translated(loaded, value))
        std::memcpy(block.data() + at, &there, 8);
    }
  }
  return block;
}

void load(const BenchSubject& subject, Loaded& loaded) {
  loaded.subject = &subject;
  const void* image =
      subject.cubin.empty() ? static_cast<const void*>(subject.ptx.c_str()) : subject.cubin.data();
  check(driver().cuModuleLoadDataEx(&loaded.module, image, 0, nullptr, nullptr),
        "cuModuleLoadDataEx");
  for (std::size_t b = 0; b < subject.memory->size(); ++b) {
    const ptx::Buffer& buffer = (*subject.memory)[b];
    Placed placed{&buffer, 0, 0};
    // As far past a multiple of 512 bytes as the interpreter has it: that decides which sectors are
    // touched.
    const std::size_t past = buffer.address % 512, bytes = buffer.bytes + past + 512;
    check(driver().cuMemAlloc(&placed.now, bytes), "cuMemAlloc");
    placed.now += past;
    placed.before = placed.now;
    if (buffer.access == ptx::Access::read_write)
      check(driver().cuMemAlloc(&placed.before, bytes), "cuMemAlloc");
    if (buffer.bytes > 0)
      check(driver().cuMemcpyHtoD(placed.before, buffer.data.get(), buffer.bytes), "cuMemcpyHtoD");
    loaded.buffers.push_back(placed);
  }
  for (const Order& order : subject.orders) {
    loaded.parameters.push_back(
        translate(loaded, order, ptx::parameter_layout(*subject.module->entry(order.entry))));
  }
}

void put_back(const Loaded& loaded) {
  for (const Placed& p : loaded.buffers) {
    if (p.before != p.now && p.buffer->bytes > 0)
      check(driver().cuMemcpyDtoD(p.now, p.before, p.buffer->bytes), "cuMemcpyDtoD");
  }
}

void start(const Loaded& loaded, std::size_t which) {
  const Order& order = loaded.subject->orders[which];
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, loaded.module, order.entry.c_str()),
        "cuModuleGetFunction");
  if (order.launch.dynamic_shared > 0) {
    check(driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(order.launch.dynamic_shared)),
          "cuFuncSetAttribute");
  }
  CUlaunchConfig config{};
  const ptx::Launch& l = order.launch;
  config.gridDimX = l.grid.x, config.gridDimY = l.grid.y, config.gridDimZ = l.grid.z;
  config.blockDimX = l.block.x, config.blockDimY = l.block.y, config.blockDimZ = l.block.z;
  config.sharedMemBytes = l.dynamic_shared;
  CUlaunchAttribute attributes[2] = {};
  config.attrs = attributes;
  if (l.cluster.x * l.cluster.y * l.cluster.z > 1) {
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[config.numAttrs++].value.clusterDim = {l.cluster.x, l.cluster.y, l.cluster.z};
  }
  if (l.cooperative) {
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[config.numAttrs++].value.cooperative = 1;
  }
  const ptx::ParameterLayout layout =
      ptx::parameter_layout(*loaded.subject->module->entry(order.entry));
  std::vector<void*> pointers;
  for (const std::uint32_t at : layout.offsets)
    pointers.push_back(const_cast<std::uint8_t*>(loaded.parameters[which].data()) + at);
  check(driver().cuLaunchKernelEx(&config, function, pointers.data(), nullptr), "cuLaunchKernelEx");
}

class Flusher {
 public:
  explicit Flusher(CompilePool& pool) {
    CompileRequest request;
    request.text = flush_text;
    request.arch = "sm_90a";
    const Attempt<CompileOutput> output = pool.compile(request);
    if (!output) return;
    check(driver().cuModuleLoadDataEx(&module_, output->cubin.data(), 0, nullptr, nullptr),
          "cuModuleLoadDataEx");
    check(driver().cuModuleGetFunction(&function_, module_, "flush"), "cuModuleGetFunction");
    check(driver().cuMemAlloc(&data_, flush_bytes), "cuMemAlloc");
  }
  void run() {
    unsigned count = flush_bytes / 16;
    void* pointers[] = {&data_, &data_, &count};
    CUlaunchConfig config{};
    config.gridDimX = 528;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 512;
    if (function_ != nullptr)
      check(driver().cuLaunchKernelEx(&config, function_, pointers, nullptr), "cuLaunchKernelEx");
    check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
  }

 private:
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  CUdeviceptr data_ = 0;
};

Error error_of(const CudaFailure& failure) {
  return {ErrorCode::no_device, failure.what + ": " + driver().describe(failure.code), ""};
}

// One pass over all subjects; `around` brackets a launch. Probes need no cold L2.
template <class Around>
void pass(const std::vector<Loaded>& all, Flusher& flusher, Around around) {
  for (const Loaded& loaded : all) {
    put_back(loaded);
    for (std::size_t i = 0; i < loaded.subject->orders.size(); ++i) {
      if (!loaded.subject->probe) flusher.run();
      check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
      around([&] {
        start(loaded, i);
        check(driver().cuCtxSynchronize(), loaded.subject->name.c_str());
      });
    }
  }
}

}  // namespace

Result<HardwareRun> count_on_device(const std::vector<BenchSubject>& subjects, CompilePool& pool,
                                    const std::vector<std::string>& metrics) {
  if (!driver().reason.empty()) return Error{ErrorCode::no_device, driver().reason, ""};
  HardwareRun run;
  try {
    CUdevice device = 0;
    CUcontext context = nullptr;
    check(driver().cuInit(0), "cuInit");
    check(driver().cuDeviceGet(&device, 0), "cuDeviceGet");
    check(driver().cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(driver().cuCtxSetCurrent(context), "cuCtxSetCurrent");
    std::size_t launches = 0;
    for (const BenchSubject& subject : subjects) launches += subject.orders.size();
    // Before the modules are loaded: some metrics are had by instrumenting their code.
    Result<RangeCounters> ranges = RangeCounters::open(context, 0);
    if (!ranges) return ranges.error();
    if (auto chosen = ranges->choose(metrics, launches); !chosen) return chosen.error();
    fmt::print(stderr, "{} passes planned\n", ranges->passes());
    std::vector<Loaded> loaded(subjects.size());
    for (std::size_t i = 0; i < subjects.size(); ++i) load(subjects[i], loaded[i]);
    Flusher flusher(pool);
    pass(loaded, flusher, [](auto body) { body(); });  // loads lazily what is loaded at first use
    fmt::print(stderr, "{} launches of {} subjects ran\n", launches, subjects.size());
    run.chip = chip_of(0);
    run.passes = ranges->passes();
    const auto begin = std::chrono::steady_clock::now();
    auto values = ranges->collect([&] {
      pass(loaded, flusher, [&](auto body) {
        ranges->begin();
        body();
        ranges->end();
      });
    });
    if (!values) return values.error();
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (values->size() != launches)
      return Error{ErrorCode::failure,
                   fmt::format("{} ranges of {} came back", values->size(), launches), ""};
    std::size_t at = 0;
    for (const BenchSubject& subject : subjects) {
      for (const Order& order : subject.orders)
        run.rows.push_back({subject.name, order.label, (*values)[at++]});
    }
    return run;
  } catch (const CudaFailure& failure) {
    return error_of(failure);
  }
}

}  // namespace counters
