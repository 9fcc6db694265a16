// The launcher beside a best kernel: a program of driver API and NVRTC alone, with the resolved
// plan as tables.
#include <fmt/format.h>

#include <cupilot/parts/resolved_plan.hpp>

#include "evolution/journal/run_files.hpp"
#include "evolution/report/launcher_library.hpp"
#include "kernel/library_step.hpp"
#include "kernel/plan_cpp.hpp"

namespace cupilot {
namespace {

// The part that does not depend on the kernel; tables follow it.
constexpr std::string_view prologue =
    R"(// Compiles kernel.cu with NVRTC, launches it as it was timed and prints the median time. Floating-point inputs are
// random numbers, others 0. Setup launches run once, before the clock starts; two
// or more launches of a run are captured once and replayed as one graph.
// Needs @NEEDS@: make && ./launch [LAUNCHES]; with 1 it suits compute-sanitizer.
#include <cuda.h>
#include <nvrtc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#define CHECK(call)                                                                 \
  do {                                                                              \
    if (const auto result_ = (call); static_cast<int>(result_) != 0) {              \
      std::fprintf(stderr, "%s: error %d\n", #call, static_cast<int>(result_));     \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (false)

struct Tensor { const char* name; const char* type; std::size_t elements, bytes; bool input; };

)";

constexpr std::string_view epilogue = R"(
static std::vector<CUdeviceptr> tensor_memory, buffer_memory;
static std::vector<CUtensorMap> encoded;
static std::map<std::string, CUfunction> functions;

static void fill(const Tensor& tensor, CUdeviceptr where) {
  std::vector<unsigned char> bytes(tensor.bytes);
  std::mt19937 random(1);
  const std::string type = tensor.type;
  for (std::size_t i = 0; i < tensor.elements; ++i) {
    const float value = static_cast<float>(random() >> 8) * 0x1.0p-23f - 1.0f;
    std::uint32_t bits;
    __builtin_memcpy(&bits, &value, 4);
    if (type == "fp32") __builtin_memcpy(&bytes[4 * i], &bits, 4);
    if (type == "bf16") { const std::uint16_t half = static_cast<std::uint16_t>(bits >> 16); __builtin_memcpy(&bytes[2 * i], &half, 2); }
    if (type == "fp16") {
      const int exponent = static_cast<int>(bits >> 23 & 255) - 112;
      const std::uint16_t half = static_cast<std::uint16_t>((bits >> 16 & 0x8000) | (exponent > 0 ? exponent << 10 | (bits >> 13 & 1023) : 0));
      __builtin_memcpy(&bytes[2 * i], &half, 2);
    }
    if (type == "e4m3" || type == "e5m2") bytes[i] = static_cast<unsigned char>(bits >> 8 & 0xbf);  // below 2, no NaN
    if (type == "fp64") { const double wide = value; __builtin_memcpy(&bytes[8 * i], &wide, 8); }
  }
  CHECK(cuMemcpyHtoD(where, bytes.data(), bytes.size()));
}

static std::vector<unsigned char> value_of(const Argument& argument) {
  const CUdeviceptr null_pointer = 0;
  const void* from = &null_pointer;
  std::size_t size = sizeof(CUdeviceptr);
  switch (argument.kind) {
    case Argument::tensor: from = &tensor_memory[argument.index]; break;
    case Argument::buffer: from = &buffer_memory[argument.index]; break;
    case Argument::map: from = &encoded[argument.index]; size = sizeof(CUtensorMap); break;
    case Argument::immediate: from = &argument.number; size = argument.bytes; break;
    default: break;
  }
  const unsigned char* bytes = static_cast<const unsigned char*>(from);
  std::vector<unsigned char> value(bytes, bytes + size);
  if (argument.kind == Argument::record) value.assign(argument.bytes, 0);
  for (const Argument& field : argument.fields) {
    const std::vector<unsigned char> inner = value_of(field);
    __builtin_memcpy(&value[field.at], inner.data(), inner.size());
  }
  return value;
}

@LIBRARY@
static void launch(const Launch& step, CUstream stream) {
@STEP@  std::vector<std::vector<unsigned char>> values;
  for (const Argument& argument : step.arguments) values.push_back(value_of(argument));
  // A tensor map must lie on 64 bytes in the parameter array's own storage; values are copied from here by the driver.
  std::vector<void*> pointers;
  for (auto& value : values) pointers.push_back(value.data());
  CUlaunchConfig config{};
  config.gridDimX = step.grid[0]; config.gridDimY = step.grid[1]; config.gridDimZ = step.grid[2];
  config.blockDimX = step.block[0]; config.blockDimY = step.block[1]; config.blockDimZ = step.block[2];
  config.sharedMemBytes = step.shared;
  config.hStream = stream;
  CUlaunchAttribute attributes[2] = {};
  if (step.cluster[0] * step.cluster[1] * step.cluster[2] > 1) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = step.cluster[0]; attribute.value.clusterDim.y = step.cluster[1]; attribute.value.clusterDim.z = step.cluster[2];
  }
  if (step.cooperative) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  config.attrs = attributes;
  CHECK(cuLaunchKernelEx(&config, functions.at(step.entry), pointers.data(), nullptr));
}

static void run_once(CUstream stream) {
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].content == Content::zeroed) CHECK(cuMemsetD8Async(buffer_memory[i], 0, plan.buffers[i].bytes, stream));
  }
  for (const Launch& step : plan.launches) {
    if (!step.setup) launch(step, stream);
  }
}

// The launches of a run as one graph; null where there is one launch, or the device captures no graph of them.
static CUgraphExec captured(CUstream stream) {
  const auto timed = std::count_if(plan.launches.begin(), plan.launches.end(), [](const Launch& step) { return !step.setup; });
  if (timed < 2 || cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS) return nullptr;
  run_once(stream);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  if (cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS) return nullptr;
  return cuGraphInstantiateWithFlags(&executable, graph, 0) == CUDA_SUCCESS ? executable : nullptr;
}

// Entries that are extern "C": they need no expression, and have none where they stand in a namespace.
static bool is_unmangled(const std::string& entry) {
  return std::find(unmangled.begin(), unmangled.end(), entry) != unmangled.end();
}

static CUmodule compile() {
  std::ifstream file("kernel.cu");
  std::stringstream text;
  text << file.rdbuf();
  nvrtcProgram program;
  CHECK(nvrtcCreateProgram(&program, text.str().c_str(), "kernel.cu", 0, nullptr, nullptr));
  for (const Launch& step : plan.launches) {
    if (!is_unmangled(step.entry)) CHECK(nvrtcAddNameExpression(program, step.entry));
  }
  const char* options[] = {ARCHITECTURE, "--std=c++17"};
  const nvrtcResult compiled = nvrtcCompileProgram(program, 2, options);
  std::size_t size = 0;
  CHECK(nvrtcGetProgramLogSize(program, &size));
  std::string log(size, ' ');
  CHECK(nvrtcGetProgramLog(program, log.data()));
  if (compiled != NVRTC_SUCCESS) { std::fprintf(stderr, "%s\n", log.c_str()); std::exit(1); }
  CHECK(nvrtcGetCUBINSize(program, &size));
  std::vector<char> image(size);
  CHECK(nvrtcGetCUBIN(program, image.data()));
  CUmodule module;
  CHECK(cuModuleLoadData(&module, image.data()));
  for (const Launch& step : plan.launches) {
    const char* lowered = step.entry;
    if (!is_unmangled(step.entry)) CHECK(nvrtcGetLoweredName(program, step.entry, &lowered));
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, lowered));
    CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(step.shared)));
    functions[step.entry] = function;
  }
  return module;
}

int main(int count, char** words) {
  const int rounds = std::max(1, count > 1 ? std::atoi(words[1]) : 20), warm = rounds > 1 ? 3 : 0;
  CHECK(cuInit(0));
  CUdevice device;
  CHECK(cuDeviceGet(&device, 0));
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  compile();
  for (const Tensor& tensor : tensors) {
    CHECK(cuMemAlloc(&tensor_memory.emplace_back(), std::max<std::size_t>(tensor.bytes, 16)));
    CHECK(cuMemsetD8(tensor_memory.back(), 0, std::max<std::size_t>(tensor.bytes, 16)));
    if (tensor.input) fill(tensor, tensor_memory.back());
  }
  for (const Buffer& buffer : plan.buffers) {
    CHECK(cuMemAlloc(&buffer_memory.emplace_back(), std::max<Int>(buffer.bytes, 16)));
    CHECK(cuMemsetD8(buffer_memory.back(), 0, std::max<Int>(buffer.bytes, 16)));
  }
  for (const Map& map : plan.maps) {
    const CUdeviceptr base = map.of_buffer ? buffer_memory[map.index] : tensor_memory[map.index];
    const std::vector<cuuint64_t> dims(map.dims.begin(), map.dims.end()), pitch(map.pitch.begin(), map.pitch.end());
    const std::vector<cuuint32_t> box(map.box.begin(), map.box.end()), steps(map.dims.size(), 1);
    CHECK(cuTensorMapEncodeTiled(&encoded.emplace_back(), static_cast<CUtensorMapDataType>(map.type), static_cast<cuuint32_t>(dims.size()),
                                 reinterpret_cast<void*>(base), dims.data(), pitch.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 static_cast<CUtensorMapSwizzle>(map.swizzle), CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  }
  CUstream stream;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
@CHOICE@  for (const Launch& step : plan.launches) {
    if (step.setup) launch(step, stream);
  }
  const CUgraphExec graph = captured(stream);
  CUevent begin, end;
  CHECK(cuEventCreate(&begin, 0));
  CHECK(cuEventCreate(&end, 0));
  std::vector<float> times;
  for (int round = 0; round < rounds + warm; ++round) {
    CHECK(cuEventRecord(begin, stream));
    if (graph != nullptr) CHECK(cuGraphLaunch(graph, stream));
    else run_once(stream);
    CHECK(cuEventRecord(end, stream));
    CHECK(cuEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cuEventElapsedTime(&milliseconds, begin, end));
    if (round >= warm) times.push_back(1000 * milliseconds);
  }
  std::sort(times.begin(), times.end());
  std::printf("%.2f us (median of %zu %s, warm L2)\n", times[times.size() / 2], times.size(),
              graph != nullptr ? "replays of one captured graph" : "launches");
}
)";

// True if the text declares `extern "C" … entry(`.
bool is_extern_c(const std::string& text, const std::string& entry) {
  for (std::size_t at = text.find("extern \"C\""); at != std::string::npos;
       at = text.find("extern \"C\"", at + 1)) {
    const std::string declared = text.substr(at, text.find_first_of("{};", at) - at);
    if (declared.find(" " + entry + "(") != std::string::npos) return true;
  }
  return false;
}

std::string unmangled_entries(const KernelSource& source) {
  std::string names;
  for (const PlanLaunch& launch : source.plan.launches) {
    if (!is_extern_c(source.text, launch.entry)) continue;
    names += (names.empty() ? "" : ", ") + cpp_quoted(launch.entry);
  }
  return names;
}

// The text with what it needs for steps of libraries, where there are any.
std::string filled(std::string_view with, const std::string& libraries) {
  const bool steps = !libraries.empty();
  std::string text(with);
  const auto put = [&](std::string_view mark, const std::string& what) {
    text.replace(text.find(mark), mark.size(), what);
  };
  put("@LIBRARY@\n", libraries);
  put("@STEP@", steps ? "  if (const auto found = library_steps.find(&step); found != "
                        "library_steps.end()) {\n    CHECK(found->second());\n    return;\n  }\n"
                      : "");
  put("@CHOICE@", steps ? "  choose(stream);\n" : "");
  return text;
}

}  // namespace

Result<std::string> launcher_text(const Task& task, const DeviceSpec& device,
                                  const CompiledKernel& kernel) {
  const Workload& workload = task.time_shapes.front();
  // A kernel that comes from a record was not compiled here: nothing is known of its entries.
  auto resolution =
      resolve(kernel.source, task, workload, device, kernel.entries.empty() ? nullptr : &kernel);
  if (resolution.is_error()) return resolution.error();
  if (!resolution || !std::holds_alternative<ResolvedPlan>(*resolution)) {
    return Error{ErrorCode::failure,
                 "the best kernel's launch plan has no numbers at its time shape",
                 "this is a fault of cupilot"};
  }
  const auto& plan = std::get<ResolvedPlan>(*resolution);
  if (!plan.textures.empty())
    return Error{ErrorCode::usage, "a launcher binds no textures: the best kernel's plan has some",
                 ""};
  std::string text(prologue);
  const bool cudnn = has_step_of(kernel.source.plan, cudnn_library);
  text.replace(text.find("@NEEDS@"), 7,
               cudnn ? "the CUDA toolkit and cuDNN 9" : "the CUDA toolkit alone");
  for (const StepLibrary& library : step_libraries()) {
    if (has_step_of(kernel.source.plan, library.name))
      text.insert(text.find("#include <cuda.h>"), fmt::format("#include <{}>\n", library.header));
  }
  text += plan_types();
  text += "static const std::vector<Tensor> tensors = {\n";
  for (const Tensor& tensor : task.tensors) {
    auto shape = shape_of(task, tensor, workload);
    if (!shape) return shape.error();
    text += fmt::format("    {{{}, \"{}\", {}, {}, {}}},\n", cpp_quoted(tensor.name),
                        name_of(tensor.type), shape->span, shape->span * size_of(tensor.type),
                        tensor.role != Role::out);
  }
  text += fmt::format(
      "}};\n\nstatic Plan made() {{\n  Plan plan;\n{}  return plan;\n}}\n"
      "static const Plan plan = made();\n#define ARCHITECTURE \"--gpu-architecture={}\"\n"
      "static const std::vector<std::string> unmangled = {{{}}};\n",
      assignments(plan_cpp(plan)), kernel.arch, unmangled_entries(kernel.source));
  text += filled(epilogue, launcher_library_text(plan));
  return text;
}

std::string launcher_makefile(const LaunchPlan& plan) {
  std::string text = "CUDA_HOME ?= /usr/local/cuda\n", linked, more, needs;
  for (const StepLibrary& library : step_libraries()) {
    if (!has_step_of(plan, library.name)) continue;
    linked += fmt::format("{} ", library.linked);
    if (library.name != cudnn_library) continue;
    // It is no part of the toolkit.
    needs =
        "# Needs cuDNN 9: cudnn.h in $(CUDNN_HOME)/include, libcudnn.so.9 in $(CUDNN_HOME)/lib.\n"
        "CUDNN_HOME ?= $(CUDA_HOME)\n";
    more = "-I$(CUDNN_HOME)/include -L$(CUDNN_HOME)/lib -Wl,-rpath,$(CUDNN_HOME)/lib ";
  }
  return text + needs +
         "launch: main.cpp\n"
         "\t$(CXX) -O2 -std=c++17 -I$(CUDA_HOME)/include main.cpp -o launch -L$(CUDA_HOME)/lib64 "
         "-L$(CUDA_HOME)/lib64/stubs "
         "-Wl,-rpath,$(CUDA_HOME)/lib64 " +
         more + linked + "-lnvrtc -lcuda\n";
}

}  // namespace cupilot
