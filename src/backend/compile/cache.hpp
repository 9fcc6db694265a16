// Compiled images kept on disk from one process to the next, each under the digest of all that
// decides what is compiled: the text, the options, and the compiler with its headers. One file an
// image; a damaged one is not used and is compiled again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/compile/protocol.hpp"

namespace cupilot {

// Bytes that a folder keeps at most: a process that opens a fuller one removes the images that were
// not asked for the longest.
inline constexpr std::int64_t cache_cap = 1ll << 30;

class CompileCache {
 public:
  // Keeps nothing.
  CompileCache() = default;
  // `compiler`: SandboxState::compiler_digest. The folder is made, for its user alone, where there
  // is none; one that others may write to is not used, since an image in it need not be of the
  // source it stands for. unused() says why one is not.
  static CompileCache open(const std::string& folder, const std::string& compiler,
                           std::int64_t cap = cache_cap);

  const std::string& unused() const { return unused_; }
  std::optional<CompileAnswer> find(const CompileOrder& order) const;
  // One thread at a time. Only what was compiled is kept: a failure may be the machine's. What
  // cannot be written is compiled again.
  void keep(const CompileOrder& order, const CompileAnswer& answer) const;

 private:
  std::string path_of(const CompileOrder& order) const;

  std::string folder_, compiler_;  // empty: keeps nothing
  std::string unused_;
};

}  // namespace cupilot
