// CUDA text to PTX inside a test, by the toolkit's NVRTC. Throws std::runtime_error with the log
// when that fails: the toolkit is required, a test never skips for want of it.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace support {

class Nvrtc {
 public:
  static const Nvrtc& get() {
    static const Nvrtc library;
    return library;
  }

  std::string ptx(const std::string& text, const std::vector<std::string>& extra = {},
                  const std::string& arch = "sm_90a") const {
    void* program = nullptr;
    check(create_(&program, text.c_str(), "test.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
    std::vector<std::string> options = {"--gpu-architecture=compute_" + arch.substr(3),
                                        "--std=c++17", "-lineinfo", "--no-cache"};
    options.insert(options.end(), extra.begin(), extra.end());
    std::vector<const char*> pointers;
    for (const std::string& o : options) pointers.push_back(o.c_str());
    const int code = compile_(program, static_cast<int>(pointers.size()), pointers.data());
    std::size_t size = 0;
    if (code != 0) {
      log_size_(program, &size);
      std::string log(size, '\0');
      log_(program, log.data());
      destroy_(&program);
      throw std::runtime_error("NVRTC refused the text:\n" + log);
    }
    check(size_(program, &size), "nvrtcGetPTXSize");
    std::string out(size, '\0');
    check(ptx_(program, out.data()), "nvrtcGetPTX");
    destroy_(&program);
    while (!out.empty() && out.back() == '\0') out.pop_back();
    return out;
  }

 private:
  Nvrtc() {
    for (const char* name :
         {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.13",
          "/usr/local/cuda/lib64/libnvrtc.so.12"}) {
      if ((handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
    }
    if (handle_ == nullptr)
      throw std::runtime_error(
          "no NVRTC (libnvrtc.so.13 or .12): these tests need the CUDA toolkit");
    load(create_, "nvrtcCreateProgram");
    load(compile_, "nvrtcCompileProgram");
    load(destroy_, "nvrtcDestroyProgram");
    load(size_, "nvrtcGetPTXSize");
    load(ptx_, "nvrtcGetPTX");
    load(log_size_, "nvrtcGetProgramLogSize");
    load(log_, "nvrtcGetProgramLog");
  }
  template <class F>
  void load(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle_, name));
    if (function == nullptr) throw std::runtime_error(std::string("NVRTC lacks ") + name);
  }
  static void check(int code, const char* what) {
    if (code != 0)
      throw std::runtime_error(std::string(what) + " returned " + std::to_string(code));
  }

  void* handle_ = nullptr;
  int (*create_)(void**, const char*, const char*, int, const char* const*,
                 const char* const*) = nullptr;
  int (*compile_)(void*, int, const char* const*) = nullptr;
  int (*destroy_)(void**) = nullptr;
  int (*size_)(void*, std::size_t*) = nullptr;
  int (*ptx_)(void*, char*) = nullptr;
  int (*log_size_)(void*, std::size_t*) = nullptr;
  int (*log_)(void*, char*) = nullptr;
};

// PTX of `text` for compute_90a, with line information.
inline std::string compile_ptx(const std::string& text,
                               const std::vector<std::string>& extra = {}) {
  return Nvrtc::get().ptx(text, extra);
}

}  // namespace support
