// Repeats launches that tests recorded on the virtual device (tests/ptx/machine/record.hpp) on a
// GPU, and compares every byte: replay RECORD OUT.json. Needs libcuda.so.1 alone.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda.h>
#include <nlohmann/json.hpp>

#include "ptx/machine/tensor_map.hpp"

namespace {

using cupilot::ptx::TensorMap;
using cupilot::ptx::Type;
using Bytes = std::vector<std::uint8_t>;

template <class F>
F* call(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string("the driver lacks ") + name);
  return reinterpret_cast<F*>(found);
}
#define TEXT(x) #x
#define NAME(x) TEXT(x)
#define CUDA(function, ...) \
  check(call<decltype(::function)>(NAME(function))(__VA_ARGS__), #function)

void check(CUresult code, const char* what) {
  if (code != CUDA_SUCCESS)
    throw std::runtime_error(std::string(what) + " returned " + std::to_string(code));
}

struct Reader {
  std::ifstream in;
  std::vector<Bytes> contents;
  std::uint64_t number() {
    std::uint64_t v = 0;
    in.read(reinterpret_cast<char*>(&v), 8);
    return v;
  }
  Bytes bytes() {
    Bytes out(number());
    in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
    return out;
  }
  std::string text() {
    const Bytes b = bytes();
    return {b.begin(), b.end()};
  }
  Bytes content() {
    const std::uint64_t index = number();
    if (index == contents.size()) contents.push_back(bytes());
    return contents.at(index);
  }
};

struct Buffer {
  std::uint64_t address = 0;
  Bytes before, after;
  CUdeviceptr device = 0;
};
struct Patch {
  std::uint64_t offset, map, buffer;
};
struct Recorded {
  std::size_t text = 0;
  std::string entry;
  unsigned grid[3], block[3], cluster[3], shared = 0;
  bool cooperative = false;
  Bytes parameters;
  std::vector<std::uint64_t> offsets;  // of the parameters
  std::vector<Patch> patches;
  std::vector<Buffer> buffers;
};

Recorded read_launch(Reader& r, std::vector<std::string>& texts) {
  Recorded out;
  const std::string text = r.text();
  if (!text.empty()) texts.push_back(text);
  out.text = r.number();
  out.entry = r.text();
  for (auto* sides : {out.grid, out.block, out.cluster}) {
    for (int i = 0; i < 3; ++i) sides[i] = static_cast<unsigned>(r.number());
  }
  out.shared = static_cast<unsigned>(r.number());
  out.cooperative = r.number() != 0;
  out.parameters = r.bytes();
  out.offsets.resize(r.number());
  for (std::uint64_t& offset : out.offsets) offset = r.number();
  out.patches.resize(r.number());
  for (Patch& p : out.patches) p = {r.number(), r.number(), r.number()};
  out.buffers.resize(r.number());
  for (Buffer& b : out.buffers) {
    b.address = r.number();
    b.before = r.content();
    b.after = r.content();
  }
  return out;
}

CUtensorMapDataType map_type(Type type) {
  const std::map<Type, CUtensorMapDataType> known = {
      {Type::u8, CU_TENSOR_MAP_DATA_TYPE_UINT8},    {Type::u16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
      {Type::u32, CU_TENSOR_MAP_DATA_TYPE_UINT32},  {Type::s32, CU_TENSOR_MAP_DATA_TYPE_INT32},
      {Type::u64, CU_TENSOR_MAP_DATA_TYPE_UINT64},  {Type::s64, CU_TENSOR_MAP_DATA_TYPE_INT64},
      {Type::f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16}, {Type::f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
      {Type::f64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64}, {Type::bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16}};
  return known.at(type);
}

CUtensorMap encoded(const TensorMap& map, CUdeviceptr base) {
  CUtensorMap out{};
  const std::map<std::uint32_t, CUtensorMapSwizzle> swizzles = {{0, CU_TENSOR_MAP_SWIZZLE_NONE},
                                                                {32, CU_TENSOR_MAP_SWIZZLE_32B},
                                                                {64, CU_TENSOR_MAP_SWIZZLE_64B},
                                                                {128, CU_TENSOR_MAP_SWIZZLE_128B}};
  std::vector<cuuint64_t> dims(map.dims.begin(), map.dims.end()),
      pitch(map.pitch.begin(), map.pitch.end());
  CUDA(cuTensorMapEncodeTiled, &out, map_type(map.type), map.rank, reinterpret_cast<void*>(base),
       dims.data(), pitch.data(), map.box.data(), map.step.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
       swizzles.at(map.swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE,
       map.fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                    : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return out;
}

void patch(Recorded& launch) {
  for (const Patch& p : launch.patches) {
    const Buffer* found = nullptr;
    for (const Buffer& b : launch.buffers) {
      if (p.buffer >= b.address && p.buffer < b.address + std::max<std::size_t>(b.before.size(), 1))
        found = &b;
    }
    if (found == nullptr) throw std::runtime_error("a pointer to no buffer");
    const CUdeviceptr at = found->device + (p.buffer - found->address);
    std::uint8_t* to = launch.parameters.data() + p.offset;
    if (p.map == 0) {
      std::memcpy(to, &at, 8);
      continue;
    }
    const auto map = cupilot::ptx::decode_map({to, 128});
    const CUtensorMap made = encoded(map.value(), at);
    std::memcpy(to, &made, 128);
  }
}

void start(CUfunction function, Recorded& launch) {
  CUlaunchConfig config{};
  config.gridDimX = launch.grid[0];
  config.gridDimY = launch.grid[1];
  config.gridDimZ = launch.grid[2];
  config.blockDimX = launch.block[0];
  config.blockDimY = launch.block[1];
  config.blockDimZ = launch.block[2];
  config.sharedMemBytes = launch.shared;
  std::vector<CUlaunchAttribute> attributes;
  if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1) {
    CUlaunchAttribute a{};
    a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    a.value.clusterDim = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
    attributes.push_back(a);
  }
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  if (launch.shared > 0)
    CUDA(cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
         static_cast<int>(launch.shared));
  // A driver may place parameters elsewhere in its own block than the virtual device does.
  std::vector<void*> pointers;
  for (const std::uint64_t offset : launch.offsets)
    pointers.push_back(launch.parameters.data() + offset);
  CUDA(cuLaunchKernelEx, &config, function, pointers.data(), nullptr);
  CUDA(cuCtxSynchronize);
}

constexpr std::size_t most_words = 12;

std::string hex(std::uint64_t v) {
  char text[32];
  std::snprintf(text, sizeof(text), "%llx", static_cast<unsigned long long>(v));
  return text;
}

// Bytes that differ, and the first words of 64 bits among them: buffer, byte, what the GPU has,
// what the virtual device has.
nlohmann::json compare(const Recorded& launch) {
  std::size_t differ = 0, total = 0;
  nlohmann::json words = nlohmann::json::array();
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    const Buffer& b = launch.buffers[i];
    const Bytes& want = b.after.empty() ? b.before : b.after;
    Bytes got(want.size());
    if (!got.empty()) CUDA(cuMemcpyDtoH, got.data(), b.device, got.size());
    total += b.after.size();
    for (std::size_t at = 0; at < got.size(); at += 8) {
      const std::size_t size = std::min<std::size_t>(8, got.size() - at);
      std::uint64_t found = 0, expected = 0;
      std::memcpy(&found, got.data() + at, size);
      std::memcpy(&expected, want.data() + at, size);
      if (found == expected) continue;
      for (std::size_t k = 0; k < size; ++k) differ += got[at + k] != want[at + k] ? 1 : 0;
      if (words.size() < most_words) words.push_back({i, at, hex(found), hex(expected)});
    }
  }
  nlohmann::json out = {{"bytes", total}, {"differ", differ}};
  if (differ != 0) out["words"] = words;
  return out;
}

nlohmann::json run(Recorded& launch, CUmodule module) {
  nlohmann::json out = {{"entry", launch.entry}};
  for (Buffer& b : launch.buffers) {
    CUDA(cuMemAlloc, &b.device, std::max<std::size_t>(b.before.size(), 16));
    if (!b.before.empty()) CUDA(cuMemcpyHtoD, b.device, b.before.data(), b.before.size());
  }
  patch(launch);
  CUfunction function = nullptr;
  CUDA(cuModuleGetFunction, &function, module, launch.entry.c_str());
  start(function, launch);
  out.update(compare(launch));
  for (Buffer& b : launch.buffers) CUDA(cuMemFree, b.device);
  return out;
}

// Runs launches from `first` on and appends a line each; the number of the one after a launch that
// ended the context, else 0.
std::size_t run_from(const char* record, const char* lines, std::size_t first) {
  CUDA(cuInit, 0);
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUDA(cuDeviceGet, &device, 0);
  CUDA(cuDevicePrimaryCtxRetain, &context, device);
  CUDA(cuCtxSetCurrent, context);
  Reader reader{std::ifstream(record, std::ios::binary), {}};
  std::ofstream out(lines, std::ios::app);
  std::vector<std::string> texts;
  std::map<std::size_t, CUmodule> modules;
  for (std::size_t i = 0; reader.text() == "LAUNCH"; ++i) {
    Recorded launch = read_launch(reader, texts);
    if (i < first) continue;
    nlohmann::json result = {{"entry", launch.entry}};
    bool loaded = false;
    try {
      CUmodule& module = modules[launch.text];
      if (module == nullptr)
        CUDA(cuModuleLoadDataEx, &module, texts.at(launch.text).c_str(), 0, nullptr, nullptr);
      loaded = true;
      result = run(launch, module);
    } catch (const std::exception& error) {
      result["error"] = error.what();
    }
    result["launch"] = i;
    out << result.dump() << std::endl;
    if (loaded && result.contains("error")) return i + 1;  // the launch may have ended the context
  }
  return 0;
}

}  // namespace

// A faulty launch ends its process, so the launches run in children.
int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "replay RECORD OUT.json\n"), 2;
  const std::string lines = std::string(argv[2]) + ".lines";
  std::remove(lines.c_str());
  std::size_t next = 0;
  for (bool more = true; more;) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        std::_Exit(run_from(argv[1], lines.c_str(), next) == 0 ? 0 : 1);
      } catch (const std::exception& error) {
        std::printf("%s\n", error.what());
        std::fflush(stdout);
        std::_Exit(2);
      }
    }
    int status = 0;
    waitpid(child, &status, 0);
    more = WIFEXITED(status) && WEXITSTATUS(status) == 1;
    std::ifstream in(lines);
    next = static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
  }
  nlohmann::json results = nlohmann::json::array();
  std::size_t equal = 0;
  std::ifstream in(lines);
  for (std::string line; std::getline(in, line);) {
    results.push_back(nlohmann::json::parse(line));
    const bool same = results.back().value("differ", 1) == 0;
    equal += same ? 1 : 0;
    if (!same) std::printf("%s\n", line.substr(0, 160).c_str());
  }
  std::remove(lines.c_str());
  std::printf("%zu of %zu launches equal\n", equal, results.size());
  std::ofstream(argv[2])
      << nlohmann::json{{"equal", equal}, {"launches", results.size()}, {"results", results}}.dump(
             1)
      << "\n";
  return 0;
}
