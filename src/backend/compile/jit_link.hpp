// nvJitLink, opened at run time: the assembler of PTX. Only worker processes call it.
#pragma once

#include <string>

#include "backend/compile/pool.hpp"

namespace cupilot {

struct AssembledPtx {
  std::string error;     // empty: it was assembled
  CompileOutput output;  // without PTX, which the request has
};

class JitLink {
 public:
  // Opens the library; `found()` says whether it did, `path()` where or why not.
  JitLink();
  bool found() const { return found_; }
  const std::string& path() const { return path_; }
  // Assembles the PTX in `request.text` for `request.arch`; the log has ptxas's resource lines.
  AssembledPtx assemble(const CompileRequest& request) const;

 private:
  std::string path_;
  bool found_ = false;
};

}  // namespace cupilot
