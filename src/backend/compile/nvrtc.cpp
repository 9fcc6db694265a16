#include "backend/compile/nvrtc.hpp"

#include <chrono>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/core.h>
#include <nvrtc.h>

#include "backend/compile/headers.hpp"
#include "backend/worker/library.hpp"
#include "base/hash.hpp"

namespace cupilot {
namespace {

// clang-format off
#define CUPILOT_NVRTC_CALLS(X) \
  X(nvrtcVersion) X(nvrtcCreateProgram) X(nvrtcDestroyProgram) X(nvrtcCompileProgram) X(nvrtcAddNameExpression) \
  X(nvrtcGetLoweredName) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog) X(nvrtcGetPTXSize) X(nvrtcGetPTX) \
  X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN) X(nvrtcGetErrorString)
// clang-format on

struct Calls {
#define CUPILOT_MEMBER(name) decltype(&::name) name = nullptr;
  CUPILOT_NVRTC_CALLS(CUPILOT_MEMBER)
#undef CUPILOT_MEMBER
};
Calls calls;

bool load_calls(void* handle, std::string& missing) {
#define CUPILOT_LOAD(name)                                                \
  calls.name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name)); \
  if (calls.name == nullptr) missing = #name;
  CUPILOT_NVRTC_CALLS(CUPILOT_LOAD)
#undef CUPILOT_LOAD
  return missing.empty();
}

// A text or binary that NVRTC gives in two calls, size and content.
template <class Container, class Size, class Content>
Container fetch(nvrtcProgram program, Size size_call, Content content_call) {
  std::size_t size = 0;
  Container content;
  if (size_call(program, &size) != NVRTC_SUCCESS || size == 0) return content;
  content.resize(size);
  if (content_call(program, reinterpret_cast<char*>(content.data())) != NVRTC_SUCCESS)
    content.clear();
  return content;
}

std::vector<std::string> header_folders(const std::string& library) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path beside = fs::weakly_canonical(library, ignored).parent_path().parent_path();
  for (const fs::path& place : {beside / "include", beside.parent_path().parent_path() / "include",
                                fs::path(CUPILOT_CUDA_ROOT "/include")}) {
    if (!fs::exists(place / "cuda_fp16.h", ignored)) continue;
    std::vector<std::string> folders{place.string()};
    // Since version 13 the C++ library of the toolkit stands in a folder of its own.
    if (fs::exists(place / "cccl" / "cuda", ignored)) folders.push_back((place / "cccl").string());
    return folders;
  }
  return {};
}

nvrtcResult create(nvrtcProgram& program, const std::string& text) {
  std::vector<const char*> names, texts;
  for (const auto headers : {standard_headers(), stand_in_headers()}) {
    for (const StandardHeader& header : headers) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
  }
  return calls.nvrtcCreateProgram(&program, text.c_str(), "kernel.cu",
                                  static_cast<int>(names.size()), texts.data(), names.data());
}

void drop_terminator(std::string& text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
}

}  // namespace

Nvrtc::Nvrtc() {
  const OpenedLibrary library = open_library({"libnvrtc.so.13", "libnvrtc.so.12"});
  if (library.handle == nullptr) {
    path_ = library.reason;
    return;
  }
  std::string missing;
  if (!load_calls(library.handle, missing)) {
    path_ = fmt::format("{} lacks {}", library.path, missing);
    return;
  }
  path_ = library.path;
  include_folders_ = header_folders(path_);
  calls.nvrtcVersion(&version_major_, &version_minor_);
}

std::string Nvrtc::compiler() const {
  return fmt::format("nvrtc {}.{}", version_major_, version_minor_);
}

std::string Nvrtc::digest() const {
  namespace fs = std::filesystem;
  std::string all = compiler();
  std::vector<std::string> files{path_};
  for (const std::string& folder : include_folders_) files.push_back(folder + "/cuda_fp16.h");
  for (const std::string& file : files) {
    std::error_code lacking;
    all += fmt::format("\n{} {} {}", file, fs::file_size(file, lacking),
                       fs::last_write_time(file, lacking).time_since_epoch().count());
  }
  for (const auto headers : {standard_headers(), stand_in_headers()}) {
    for (const StandardHeader& header : headers)
      all += fmt::format("\n{}\n{}", header.name, header.text);
  }
  return sha256_hex(all);
}

NvrtcRun Nvrtc::compile(const CompileRequest& request,
                        const std::vector<std::string>& options) const {
  const auto begin = std::chrono::steady_clock::now();
  NvrtcRun run;
  run.output.compiler = compiler();
  nvrtcProgram program = nullptr;
  nvrtcResult code = create(program, request.text);
  for (const std::string& name : request.name_expressions) {
    if (code == NVRTC_SUCCESS) code = calls.nvrtcAddNameExpression(program, name.c_str());
  }
  std::vector<const char*> given;
  std::vector<std::string> paths;
  for (const std::string& folder : include_folders_) paths.push_back("--include-path=" + folder);
  for (const std::string& path : paths) given.push_back(path.c_str());
  for (const std::string& option : options) {
    const bool old = version_major_ < 12 || (version_major_ == 12 && version_minor_ < 9);
    const bool newer = option == "--no-cache" || option.starts_with("--split-compile");
    if (!(old && newer)) given.push_back(option.c_str());
  }
  if (code == NVRTC_SUCCESS)
    code = calls.nvrtcCompileProgram(program, static_cast<int>(given.size()), given.data());
  if (program != nullptr) {
    run.output.log =
        fetch<std::string>(program, calls.nvrtcGetProgramLogSize, calls.nvrtcGetProgramLog);
    drop_terminator(run.output.log);
  }
  if (code == NVRTC_SUCCESS) {
    run.output.ptx = fetch<std::string>(program, calls.nvrtcGetPTXSize, calls.nvrtcGetPTX);
    drop_terminator(run.output.ptx);
    if (!request.ptx_only) {
      run.output.cubin =
          fetch<std::vector<std::uint8_t>>(program, calls.nvrtcGetCUBINSize, calls.nvrtcGetCUBIN);
    }
    for (const std::string& name : request.name_expressions) {
      const char* lowered = nullptr;
      if (calls.nvrtcGetLoweredName(program, name.c_str(), &lowered) == NVRTC_SUCCESS)
        run.output.lowered_names[name] = lowered;
    }
  }
  if (program != nullptr) calls.nvrtcDestroyProgram(&program);
  run.code = static_cast<int>(code);
  run.code_name = calls.nvrtcGetErrorString(code);
  run.output.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

}  // namespace cupilot
