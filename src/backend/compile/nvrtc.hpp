// NVRTC, opened at run time; only worker processes call it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/compile/pool.hpp"

namespace cupilot {

// The answer of one NVRTC run, good or bad.
struct NvrtcRun {
  int code = 0;  // nvrtcResult
  std::string code_name;
  CompileOutput output;
};

class Nvrtc {
 public:
  // Opens the library; `found()` says whether it did, `path()` where or why not.
  Nvrtc();
  bool found() const { return version_major_ > 0; }
  const std::string& path() const { return path_; }
  std::string compiler() const;  // "nvrtc 13.0"
  // Folders of the toolkit's device headers: beside the library, else where this was built. Empty:
  // none has cuda_fp16.h.
  const std::vector<std::string>& include_folders() const { return include_folders_; }
  // Changes with whatever but its arguments may change what compile() makes: the library, the
  // toolkit's headers and ours.
  std::string digest() const;
  // Options that need a newer NVRTC than this one are left out; the standard headers and the
  // include folders are added.
  NvrtcRun compile(const CompileRequest& request, const std::vector<std::string>& options) const;

 private:
  std::string path_;
  std::vector<std::string> include_folders_;
  int version_major_ = 0, version_minor_ = 0;
};

}  // namespace cupilot
