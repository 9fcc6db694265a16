// Folders of captures, written as the injected library writes them.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "catch.hpp"

namespace support {

namespace fs = std::filesystem;

inline const std::string data = std::string(CUPILOT_SOURCE_DIR) + "/tests/data/capture/";

inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), {}};
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// A buffer of a launch. `kept`: bytes from its begin on; 0: all of them.
struct Given {
  std::uint64_t address = 0;
  std::string before, after;
  std::uint64_t bytes = 0;  // of the allocation; 0: as many as `before` has
};

struct GivenLaunch {
  std::string entry;
  std::vector<std::uint64_t> arguments;  // pointers, and one number of 4 bytes behind them
  std::vector<Given> buffers;
  int grid = 4, block = 32, result = 0;
  bool ended = true;
  bool described = true;  // the driver tells the arguments apart
};

class CaptureFolder {
 public:
  CaptureFolder() {
    std::string name = (fs::temp_directory_path() / "cupilot-capture-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
    fs::create_directories(path_ / "modules");
    line(R"({"event": "process", "process": 1, "program": "guest"})");
    line(R"({"event": "device", "device": 0, "name": "Fake", "driver": 13000, "capability": 90,)"
         R"( "sms": 132, "shared": 232448})");
  }
  CaptureFolder(const CaptureFolder&) = delete;
  ~CaptureFolder() { fs::remove_all(path_); }

  std::string path() const { return path_.string(); }
  void line(const std::string& text) const {
    std::ofstream(path_ / "capture.jsonl", std::ios::app) << text << "\n";
  }
  void file(const std::string& name, const std::string& content) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  void module(const std::string& kind, const std::string& content) const {
    file("modules/m." + kind, content);
    line(
        fmt::format(R"({{"event": "module", "module": "m", "kind": "{0}", "file": "modules/m.{0}",)"
                    R"( "bytes": {1}}})",
                    kind, content.size()));
  }
  void launch(const GivenLaunch& given) {
    const int number = ++launches_;
    std::string arguments, buffers, after;
    std::vector<int> parameters, pointers;
    for (std::size_t i = 0; i < given.arguments.size(); ++i) {
      const std::uint64_t value = given.arguments[i];
      const int size = value > 1ull << 32 ? 8 : 4;
      for (int k = 0; k < size; ++k) arguments += fmt::format("{:02x}", (value >> (8 * k)) & 255);
      parameters.insert(parameters.end(), {static_cast<int>(8 * i), size});
      if (size == 8) pointers.push_back(static_cast<int>(8 * i));
    }
    if (!given.described) parameters.clear();
    for (std::size_t i = 0; i < given.buffers.size(); ++i) {
      const Given& one = given.buffers[i];
      const std::string name = fmt::format("launch-{}/buffer-{}", number, i);
      file(name + ".before", one.before);
      file(name + ".after", one.after);
      buffers += fmt::format(R"({}{{"address": {}, "bytes": {}, "kept_from": {}, "kept": {},)"
                             R"( "before": "{}.before"}})",
                             i > 0 ? ", " : "", one.address,
                             one.bytes != 0 ? one.bytes : one.before.size(), one.address,
                             one.before.size(), name);
      after += fmt::format("{}\"{}.after\"", i > 0 ? ", " : "", name);
    }
    line(fmt::format(
        R"({{"event": "launch", "number": {}, "device": 0, "module": "m", "entry": "{}",)"
        R"( "grid": [{}, 1, 1], "block": [{}, 1, 1], "cluster": [1, 1, 1], "shared": 0,)"
        R"( "cooperative": false, "arguments": "{}", "parameters": [{}], "pointers": [{}],)"
        R"( "buffers": [{}], "variables": []}})",
        number, given.entry, given.grid, given.block, arguments, fmt::join(parameters, ", "),
        fmt::join(pointers, ", "), buffers));
    if (!given.ended) return;
    line(fmt::format(R"({{"event": "after", "number": {}, "result": {}, "name": "{}",)"
                     R"( "buffers": [{}]}})",
                     number, given.result,
                     given.result == 0 ? "CUDA_SUCCESS" : "CUDA_ERROR_ILLEGAL_ADDRESS",
                     given.result == 0 ? after : ""));
  }

 private:
  fs::path path_;
  int launches_ = 0;
};

}  // namespace support
