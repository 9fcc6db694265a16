#include "backend/compile/jit_link.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include <dlfcn.h>
#include <fmt/core.h>

#include "backend/worker/library.hpp"

namespace cupilot {
namespace {

// The functions of nvJitLink.h by the names that versions 12 and 13 export; that header declares
// those of its own version alone.
struct Calls {
  using Handle = void*;
  int (*nvJitLinkVersion)(unsigned*, unsigned*) = nullptr;
  int (*nvJitLinkCreate)(Handle*, std::uint32_t, const char**) = nullptr;
  int (*nvJitLinkDestroy)(Handle*) = nullptr;
  int (*nvJitLinkAddData)(Handle, int, const void*, std::size_t, const char*) = nullptr;
  int (*nvJitLinkComplete)(Handle) = nullptr;
  int (*nvJitLinkGetLinkedCubinSize)(Handle, std::size_t*) = nullptr;
  int (*nvJitLinkGetLinkedCubin)(Handle, void*) = nullptr;
  int (*nvJitLinkGetErrorLogSize)(Handle, std::size_t*) = nullptr;
  int (*nvJitLinkGetErrorLog)(Handle, char*) = nullptr;
  int (*nvJitLinkGetInfoLogSize)(Handle, std::size_t*) = nullptr;
  int (*nvJitLinkGetInfoLog)(Handle, char*) = nullptr;
};
Calls calls;
constexpr int input_ptx = 2;  // NVJITLINK_INPUT_PTX

bool load_calls(void* handle, std::string& missing) {
#define CUPILOT_LOAD(name)                                                   \
  calls.name = reinterpret_cast<decltype(calls.name)>(dlsym(handle, #name)); \
  if (calls.name == nullptr) missing = #name;
  CUPILOT_LOAD(nvJitLinkVersion)
  CUPILOT_LOAD(nvJitLinkCreate)
  CUPILOT_LOAD(nvJitLinkDestroy)
  CUPILOT_LOAD(nvJitLinkAddData)
  CUPILOT_LOAD(nvJitLinkComplete)
  CUPILOT_LOAD(nvJitLinkGetLinkedCubinSize)
  CUPILOT_LOAD(nvJitLinkGetLinkedCubin)
  CUPILOT_LOAD(nvJitLinkGetErrorLogSize)
  CUPILOT_LOAD(nvJitLinkGetErrorLog)
  CUPILOT_LOAD(nvJitLinkGetInfoLogSize)
  CUPILOT_LOAD(nvJitLinkGetInfoLog)
#undef CUPILOT_LOAD
  return missing.empty();
}

template <class Size, class Text>
std::string text_of(Calls::Handle link, Size size_call, Text text_call) {
  std::size_t size = 0;
  if (size_call(link, &size) != 0 || size == 0) return {};
  std::string text(size, '\0');
  if (text_call(link, text.data()) != 0) return {};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::vector<std::uint8_t> image_of(Calls::Handle link) {
  std::size_t size = 0;
  if (calls.nvJitLinkGetLinkedCubinSize(link, &size) != 0) return {};
  std::vector<std::uint8_t> image(size);
  if (size == 0 || calls.nvJitLinkGetLinkedCubin(link, image.data()) != 0) return {};
  return image;
}

}  // namespace

JitLink::JitLink() {
  const OpenedLibrary library = open_library({"libnvJitLink.so.13", "libnvJitLink.so.12"});
  path_ = library.handle == nullptr ? library.reason : library.path;
  std::string missing;
  found_ = library.handle != nullptr && load_calls(library.handle, missing);
  if (!missing.empty()) path_ += " lacks " + missing;
}

AssembledPtx JitLink::assemble(const CompileRequest& request) const {
  const auto begin = std::chrono::steady_clock::now();
  AssembledPtx done;
  unsigned major = 0, minor = 0;
  calls.nvJitLinkVersion(&major, &minor);
  done.output.compiler = fmt::format("nvjitlink {}.{}", major, minor);
  const std::string arch = "-arch=" + request.arch;
  std::array<const char*, 2> options{arch.c_str(), "-Xptxas=-v"};
  Calls::Handle link = nullptr;
  int code = calls.nvJitLinkCreate(&link, options.size(), options.data());
  if (code == 0)
    code = calls.nvJitLinkAddData(link, input_ptx, request.text.c_str(), request.text.size() + 1,
                                  "kernel.ptx");
  if (code == 0) code = calls.nvJitLinkComplete(link);
  if (link != nullptr) {
    done.output.log = text_of(link, calls.nvJitLinkGetErrorLogSize, calls.nvJitLinkGetErrorLog) +
                      text_of(link, calls.nvJitLinkGetInfoLogSize, calls.nvJitLinkGetInfoLog);
    if (code == 0) done.output.cubin = image_of(link);
    calls.nvJitLinkDestroy(&link);
  }
  if (code != 0 || done.output.cubin.empty())
    done.error = fmt::format("nvJitLink ended with code {}", code);
  done.output.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return done;
}

}  // namespace cupilot
