// The real program, run in a folder of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

namespace support {

namespace fs = std::filesystem;

struct Ran {
  int exit = -1;
  std::string out, err;
};

inline std::string slurp(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A fresh folder, gone at the end of the test.
struct Scratch {
  fs::path path;
  Scratch() {
    std::string name = (fs::temp_directory_path() / "cupilot-cli-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  Scratch(const Scratch&) = delete;  // the destructor removes the folder
  ~Scratch() { fs::remove_all(path); }
  fs::path file(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return path / name;
  }
};

// `prefix` runs in the same shell first: "ulimit -f 8;".
inline Ran run(const std::string& arguments, const Scratch& scratch,
               const std::string& prefix = "") {
  const fs::path out = scratch.path / "stdout", err = scratch.path / "stderr";
  const std::string command = "cd '" + scratch.path.string() + "' && " + prefix + " '" +
                              CUPILOT_PROGRAM + "' " + arguments + " >'" + out.string() + "' 2>'" +
                              err.string() + "' </dev/null";
  const int status = std::system(("bash -c \"" + command + "\"").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(out), slurp(err)};
}

// In the repository's root, which the paths of kernel headers start from.
inline Ran run_at_root(const std::string& arguments, const Scratch& scratch) {
  return run(arguments, scratch, "cd '" CUPILOT_SOURCE_DIR "' &&");
}

// A small landscape, for --device fake:FILE.
inline const std::string fake =
    std::string(CUPILOT_SOURCE_DIR) + "/tests/data/landscapes/small.json";

}  // namespace support
