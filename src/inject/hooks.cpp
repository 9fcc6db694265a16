// The functions of the driver that the library stands before. Programs reach them by the names
// here, by dlsym and by cuGetProcAddress.
#include <cuda.h>

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "inject/driver.hpp"
#include "inject/images.hpp"
#include "inject/launch.hpp"
#include "inject/record.hpp"

// clang-format off
// The header's macros would rename what is defined here.
#undef cuMemAlloc
#undef cuModuleGetGlobal
#undef cuGetProcAddress
#undef cuGraphLaunch
#undef cuLaunchKernel
// clang-format on

#define CUPILOT_SHOWN extern "C" __attribute__((visibility("default")))

namespace inject = cupilot::inject;
using inject::Aside;

namespace {

// A function before which the library stands, and where the program found the real one.
struct Hook {
  const char* name;
  void* shown;
  void* real = nullptr;
};
Hook* hook_named(std::string_view name);

// The real function of a hook, as a function of its kind.
template <class Function>
Function* real(const char* name) {
  Hook* hook = hook_named(name);
  if (hook->real == nullptr) hook->real = inject::driver_function(name);
  return reinterpret_cast<Function*>(hook->real);
}
// Calls the real function under this one's name.
#define CUPILOT_REAL(name, ...)                                                \
  [&]() -> CUresult {                                                          \
    static auto* const found = real<decltype(name)>(#name);                    \
    return found == nullptr ? CUDA_ERROR_NOT_INITIALIZED : found(__VA_ARGS__); \
  }()

bool watched() { return !Aside::now() && !inject::standing_aside(); }

// Does what the program has no part in: a failure ends capturing, and nothing else.
template <class Work>
void guarded(Work work) {
  try {
    work();
  } catch (const std::exception& error) {
    inject::stand_aside(error.what());
  }
}

// Runs a launch and keeps it.
template <class Launch>
CUresult launched(const inject::Request& request, Launch launch) {
  inject::KeptPtr kept;
  if (watched()) guarded([&] { kept = inject::keep_before(request); });
  const CUresult result = launch();
  if (kept) guarded([&] { inject::keep_after(*kept, result); });
  return result;
}

// Notes something after a call that went well.
template <class Note>
CUresult noted(CUresult result, Note note) {
  if (result == CUDA_SUCCESS && watched()) guarded(note);
  return result;
}

inject::Request request_of(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                           unsigned by, unsigned bz, unsigned shared, CUstream stream,
                           void** parameters, void** extra) {
  inject::Request request;
  request.function = f;
  request.grid = {gx, gy, gz};
  request.block = {bx, by, bz};
  request.shared = shared;
  request.stream = stream;
  request.parameters = parameters;
  request.extra = extra;
  return request;
}

inject::Request request_of(const CUlaunchConfig& c, CUfunction f, void** parameters, void** extra) {
  inject::Request request =
      request_of(f, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY, c.blockDimZ,
                 c.sharedMemBytes, c.hStream, parameters, extra);
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    const CUlaunchAttribute& one = c.attrs[i];
    if (one.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      request.cluster = {one.value.clusterDim.x, one.value.clusterDim.y, one.value.clusterDim.z};
    if (one.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) request.cooperative = one.value.cooperative != 0;
  }
  return request;
}

// A function compiled for streams of threads means the thread's own by null.
CUstream of_thread(CUstream stream) { return stream == nullptr ? CU_STREAM_PER_THREAD : stream; }

// The caller's place for a result, or one of its own where the caller wants none.
template <class Value>
struct Wanted {
  Value own{};
  Value* at;
  explicit Wanted(Value* given) : at(given != nullptr ? given : &own) {}
};
}  // namespace

#define CUPILOT_DIMENSIONS                                                                    \
  CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
      unsigned shared, CUstream stream, void **parameters
#define CUPILOT_SAME f, gx, gy, gz, bx, by, bz, shared, stream, parameters

CUPILOT_SHOWN CUresult cuLaunchKernel(CUPILOT_DIMENSIONS, void** extra) {
  return launched(request_of(CUPILOT_SAME, extra),
                  [&] { return CUPILOT_REAL(cuLaunchKernel, CUPILOT_SAME, extra); });
}
CUPILOT_SHOWN CUresult cuLaunchKernel_ptsz(CUPILOT_DIMENSIONS, void** extra) {
  inject::Request request = request_of(CUPILOT_SAME, extra);
  request.stream = of_thread(stream);
  return launched(request, [&] { return CUPILOT_REAL(cuLaunchKernel_ptsz, CUPILOT_SAME, extra); });
}
CUPILOT_SHOWN CUresult cuLaunchCooperativeKernel(CUPILOT_DIMENSIONS) {
  inject::Request request = request_of(CUPILOT_SAME, nullptr);
  request.cooperative = true;
  return launched(request, [&] { return CUPILOT_REAL(cuLaunchCooperativeKernel, CUPILOT_SAME); });
}
CUPILOT_SHOWN CUresult cuLaunchCooperativeKernel_ptsz(CUPILOT_DIMENSIONS) {
  inject::Request request = request_of(CUPILOT_SAME, nullptr);
  request.cooperative = true;
  request.stream = of_thread(stream);
  return launched(request,
                  [&] { return CUPILOT_REAL(cuLaunchCooperativeKernel_ptsz, CUPILOT_SAME); });
}
CUPILOT_SHOWN CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f,
                                        void** parameters, void** extra) {
  const auto launch = [&] { return CUPILOT_REAL(cuLaunchKernelEx, config, f, parameters, extra); };
  if (config == nullptr) return launch();
  return launched(request_of(*config, f, parameters, extra), launch);
}
CUPILOT_SHOWN CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f,
                                             void** parameters, void** extra) {
  const auto launch = [&] {
    return CUPILOT_REAL(cuLaunchKernelEx_ptsz, config, f, parameters, extra);
  };
  if (config == nullptr) return launch();
  inject::Request request = request_of(*config, f, parameters, extra);
  request.stream = of_thread(config->hStream);
  return launched(request, launch);
}
CUPILOT_SHOWN CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  return noted(CUPILOT_REAL(cuGraphLaunch, graph, stream), [] { inject::count_graph(); });
}
CUPILOT_SHOWN CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  return noted(CUPILOT_REAL(cuGraphLaunch_ptsz, graph, stream), [] { inject::count_graph(); });
}

CUPILOT_SHOWN CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return noted(CUPILOT_REAL(cuModuleLoad, module, path),
               [&] { inject::file_loaded(*module, path); });
}
CUPILOT_SHOWN CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return noted(CUPILOT_REAL(cuModuleLoadData, module, image),
               [&] { inject::image_loaded(*module, image); });
}
CUPILOT_SHOWN CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                                          CUjit_option* options, void** values) {
  return noted(CUPILOT_REAL(cuModuleLoadDataEx, module, image, count, options, values),
               [&] { inject::image_loaded(*module, image); });
}
CUPILOT_SHOWN CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return noted(CUPILOT_REAL(cuModuleLoadFatBinary, module, image),
               [&] { inject::image_loaded(*module, image); });
}
CUPILOT_SHOWN CUresult cuLibraryLoadData(CUlibrary* library, const void* image,
                                         CUjit_option* jit_options, void** jit_values,
                                         unsigned jit_count, CUlibraryOption* options,
                                         void** values, unsigned count) {
  return noted(CUPILOT_REAL(cuLibraryLoadData, library, image, jit_options, jit_values, jit_count,
                            options, values, count),
               [&] { inject::image_loaded(*library, image); });
}
CUPILOT_SHOWN CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path,
                                             CUjit_option* jit_options, void** jit_values,
                                             unsigned jit_count, CUlibraryOption* options,
                                             void** values, unsigned count) {
  return noted(CUPILOT_REAL(cuLibraryLoadFromFile, library, path, jit_options, jit_values,
                            jit_count, options, values, count),
               [&] { inject::file_loaded(*library, path); });
}
CUPILOT_SHOWN CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return noted(CUPILOT_REAL(cuLibraryGetModule, module, library),
               [&] { inject::module_of_library(*module, library); });
}
CUPILOT_SHOWN CUresult cuModuleGetFunction(CUfunction* function, CUmodule module,
                                           const char* name) {
  return noted(CUPILOT_REAL(cuModuleGetFunction, function, module, name),
               [&] { inject::function_found(*function, module, name, false); });
}
CUPILOT_SHOWN CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return noted(CUPILOT_REAL(cuLibraryGetKernel, kernel, library, name),
               [&] { inject::function_found(*kernel, library, name, true); });
}
CUPILOT_SHOWN CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return noted(CUPILOT_REAL(cuKernelGetFunction, function, kernel),
               [&] { inject::function_of_kernel(*function, kernel); });
}
CUPILOT_SHOWN CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes,
                                            CUmodule module, const char* name) {
  Wanted size(bytes);
  Wanted place(address);
  return noted(CUPILOT_REAL(cuModuleGetGlobal_v2, place.at, size.at, module, name),
               [&] { inject::variable_found(module, name, *place.at, *size.at); });
}
CUPILOT_SHOWN CUresult cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes,
                                          CUlibrary library, const char* name) {
  Wanted size(bytes);
  Wanted place(address);
  return noted(CUPILOT_REAL(cuLibraryGetGlobal, place.at, size.at, library, name),
               [&] { inject::variable_found(library, name, *place.at, *size.at); });
}
CUPILOT_SHOWN CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return noted(CUPILOT_REAL(cuMemAlloc_v2, address, bytes),
               [&] { inject::allocated(*address, bytes); });
}
CUPILOT_SHOWN CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  return noted(CUPILOT_REAL(cuMemAllocManaged, address, bytes, flags),
               [&] { inject::allocated(*address, bytes); });
}
CUPILOT_SHOWN CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  return noted(CUPILOT_REAL(cuMemAllocAsync, address, bytes, stream),
               [&] { inject::allocated(*address, bytes); });
}
CUPILOT_SHOWN CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, std::size_t bytes,
                                            CUstream stream) {
  return noted(CUPILOT_REAL(cuMemAllocAsync_ptsz, address, bytes, stream),
               [&] { inject::allocated(*address, bytes); });
}

namespace {

// Has a program that asks for a function get the one here, where there is one.
void* shown_for(const std::string& name, void* found) {
  Hook* hook = found == nullptr ? nullptr : hook_named(name);
  if (hook == nullptr || found == hook->shown || Aside::now()) return found;
  inject::count_process();
  hook->real = found;
  return hook->shown;
}

// The name under which the driver exports what cuGetProcAddress gives for a plain one.
std::string exported_name(const char* symbol, int version, std::uint64_t flags) {
  std::string name = symbol;
  if (name == "cuGetProcAddress" && version >= 12000) return name + "_v2";
  if (name == "cuMemAlloc" || name == "cuModuleGetGlobal") return name + "_v2";
  const bool of_threads = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  if (of_threads && hook_named(name + "_ptsz") != nullptr) name += "_ptsz";
  return name;
}

void hook_address(const char* symbol, void** function, int version, std::uint64_t flags) {
  if (symbol == nullptr || function == nullptr || inject::settings().folder.empty()) return;
  *function = shown_for(exported_name(symbol, version, flags), *function);
}

}  // namespace

CUPILOT_SHOWN CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                        cuuint64_t flags) {
  using Function = CUresult(const char*, void**, int, cuuint64_t);
  auto* const call = real<Function>("cuGetProcAddress");
  if (call == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const CUresult result = call(symbol, function, version, flags);
  if (result == CUDA_SUCCESS) hook_address(symbol, function, version, flags);
  return result;
}
CUPILOT_SHOWN CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version,
                                           cuuint64_t flags,
                                           CUdriverProcAddressQueryResult* status) {
  const CUresult result =
      CUPILOT_REAL(cuGetProcAddress_v2, symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS) hook_address(symbol, function, version, flags);
  return result;
}

namespace {

// The loaded NVRTC; null: there is none.
void* compiler() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* one, std::size_t, void* out) {
        const std::string_view name = one->dlpi_name != nullptr ? one->dlpi_name : "";
        const bool is_it = name.find("libnvrtc.so") != std::string_view::npos ||
                           name.find("libnvrtc-") != std::string_view::npos;
        if (is_it) *static_cast<std::string*>(out) = name;
        return is_it ? 1 : 0;
      },
      &path);
  return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace

// NVRTC makes PTX beside each cubin: it is kept for the replay.
CUPILOT_SHOWN int nvrtcGetCUBIN(void* program, char* cubin) {
  using Get = int (*)(void*, char*);
  using GetSize = int (*)(void*, std::size_t*);
  Hook* hook = hook_named("nvrtcGetCUBIN");
  void* const library = compiler();
  if (hook->real == nullptr && library != nullptr)
    hook->real = inject::real_dlsym(library, "nvrtcGetCUBIN");
  if (hook->real == nullptr) return 7;  // NVRTC_ERROR_INTERNAL… of a library that is not there
  const int result = reinterpret_cast<Get>(hook->real)(program, cubin);
  if (result != 0 || library == nullptr || inject::standing_aside()) return result;
  const auto find = [&](const char* name) { return inject::real_dlsym(library, name); };
  const auto cubin_size = reinterpret_cast<GetSize>(find("nvrtcGetCUBINSize")),
             ptx_size = reinterpret_cast<GetSize>(find("nvrtcGetPTXSize"));
  const auto ptx = reinterpret_cast<Get>(find("nvrtcGetPTX"));
  std::size_t bytes = 0, characters = 0;
  if (cubin_size == nullptr || ptx_size == nullptr || ptx == nullptr) return result;
  if (cubin_size(program, &bytes) != 0 || ptx_size(program, &characters) != 0) return result;
  std::string text(characters, '\0');
  if (characters < 2 || ptx(program, text.data()) != 0) return result;
  while (!text.empty() && text.back() == '\0') text.pop_back();
  inject::ptx_of_cubin(std::vector<std::uint8_t>(cubin, cubin + bytes), std::move(text));
  return result;
}

namespace {

#define CUPILOT_HOOK(name) \
  { #name, reinterpret_cast < void*>(&name) }
Hook hooks[] = {
    CUPILOT_HOOK(cuLaunchKernel),
    CUPILOT_HOOK(cuLaunchKernel_ptsz),
    CUPILOT_HOOK(cuLaunchKernelEx),
    CUPILOT_HOOK(cuLaunchKernelEx_ptsz),
    CUPILOT_HOOK(cuLaunchCooperativeKernel),
    CUPILOT_HOOK(cuLaunchCooperativeKernel_ptsz),
    CUPILOT_HOOK(cuGraphLaunch),
    CUPILOT_HOOK(cuGraphLaunch_ptsz),
    CUPILOT_HOOK(cuModuleLoad),
    CUPILOT_HOOK(cuModuleLoadData),
    CUPILOT_HOOK(cuModuleLoadDataEx),
    CUPILOT_HOOK(cuModuleLoadFatBinary),
    CUPILOT_HOOK(cuLibraryLoadData),
    CUPILOT_HOOK(cuLibraryLoadFromFile),
    CUPILOT_HOOK(cuLibraryGetModule),
    CUPILOT_HOOK(cuModuleGetFunction),
    CUPILOT_HOOK(cuLibraryGetKernel),
    CUPILOT_HOOK(cuKernelGetFunction),
    CUPILOT_HOOK(cuModuleGetGlobal_v2),
    CUPILOT_HOOK(cuLibraryGetGlobal),
    CUPILOT_HOOK(cuMemAlloc_v2),
    CUPILOT_HOOK(cuMemAllocManaged),
    CUPILOT_HOOK(cuMemAllocAsync),
    CUPILOT_HOOK(cuMemAllocAsync_ptsz),
    CUPILOT_HOOK(cuGetProcAddress),
    CUPILOT_HOOK(cuGetProcAddress_v2),
    CUPILOT_HOOK(nvrtcGetCUBIN),
};

// Finds the hook of a name; null: the library does not stand before it.
Hook* hook_named(std::string_view name) {
  for (Hook& hook : hooks) {
    if (name == hook.name) return &hook;
  }
  return nullptr;
}

}  // namespace

// The address that a program gets of dlsym in place of the one it asks for; null: as it asks. Only
// names as the driver and NVRTC have them are looked at.
extern "C" __attribute__((visibility("hidden"))) void* cupilot_inject_shown(void* handle,
                                                                            const char* name) {
  const bool may_be =
      name != nullptr && ((name[0] == 'c' && name[1] == 'u') || (name[0] == 'n' && name[1] == 'v'));
  if (!may_be || handle == RTLD_NEXT || handle == RTLD_DEFAULT) return nullptr;
  if (hook_named(name) == nullptr || inject::settings().folder.empty()) return nullptr;
  void* const found = inject::real_dlsym(handle, name);
  void* const shown = shown_for(name, found);
  return shown == found ? nullptr : shown;
}
