// Keeps launches that ended well, with their memory before and after, for bench/replay to repeat on
// a GPU: set CUPILOT_RECORD to a file name and run a test program of this folder.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ptx/machine/execute.hpp"
#include "ptx/machine/tensor_map.hpp"

namespace support {

// A buffer address or a tensor map in a parameter block.
struct Patch {
  std::uint32_t offset = 0;
  bool map = false;
  std::uint64_t buffer = 0;  // address on the virtual device
};

class Recorder {
 public:
  // nullptr unless recording.
  static Recorder* get() {
    static Recorder recorder;
    return recorder.file_ == nullptr ? nullptr : &recorder;
  }

  void name_text(const cupilot::ptx::Module* module, const std::string& text) {
    texts_[module] = text;
  }

  static std::vector<std::vector<std::uint8_t>> copy(const cupilot::ptx::DeviceMemory& memory) {
    std::vector<std::vector<std::uint8_t>> out;
    for (std::size_t i = 0; i < memory.size(); ++i)
      out.emplace_back(memory.data(i).begin(), memory.data(i).end());
    return out;
  }

  void keep(const cupilot::ptx::Module* module, std::string_view entry,
            const cupilot::ptx::Launch& launch, const std::vector<Patch>& patches,
            const cupilot::ptx::DeviceMemory& memory,
            const std::vector<std::vector<std::uint8_t>>& before) {
    std::size_t bytes = 0;
    for (const auto& b : before) bytes += b.size();
    const auto text = texts_.find(module);
    if (text == texts_.end() || bytes > (4u << 20) ||
        !seen_.insert({key(text->second, entry, launch), 0}).second)
      return;
    put(std::string("LAUNCH"));
    put(kept_.insert({text->second, kept_.size()}).second ? text->second : std::string());
    number(kept_.at(text->second));
    put(std::string(entry));
    for (const auto& d : {launch.grid, launch.block, launch.cluster}) {
      for (const std::uint32_t v : {d.x, d.y, d.z}) number(v);
    }
    number(launch.dynamic_shared);
    number(launch.cooperative ? 1 : 0);
    put(launch.parameters);
    const auto layout = cupilot::ptx::parameter_layout(*module->entry(entry));
    number(layout.offsets.size());
    for (const std::uint32_t offset : layout.offsets) number(offset);
    number(patches.size());
    for (const Patch& p : patches) {
      number(p.offset);
      number(p.map ? 1 : 0);
      number(p.buffer);
    }
    number(before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      number(memory.address(i));
      put_once(std::string(before[i].begin(), before[i].end()));
      const auto after = memory.data(i);
      const bool changed = !std::equal(after.begin(), after.end(), before[i].begin());
      put_once(changed ? std::string(after.begin(), after.end()) : std::string());
    }
    std::fflush(file_);
  }

 private:
  Recorder() {
    if (const char* name = std::getenv("CUPILOT_RECORD")) file_ = std::fopen(name, "ab");
  }
  static std::string key(const std::string& text, std::string_view entry,
                         const cupilot::ptx::Launch& launch) {
    return std::to_string(std::hash<std::string>()(text)) + std::string(entry) +
           std::to_string(launch.grid.x * 7 + launch.block.x) +
           std::to_string(std::hash<std::string_view>()(
               {reinterpret_cast<const char*>(launch.parameters.data()),
                launch.parameters.size()}));
  }
  void number(std::uint64_t v) { std::fwrite(&v, 8, 1, file_); }
  template <class T>
  void put(const T& bytes) {
    number(bytes.size());
    std::fwrite(bytes.data(), 1, bytes.size(), file_);
  }

  // Contents that many launches share are written the first time only.
  void put_once(const std::string& bytes) {
    const auto [found, is_new] = contents_.insert({bytes, contents_.size()});
    number(found->second);
    if (is_new) put(bytes);
  }

  std::FILE* file_ = nullptr;
  std::map<std::string, std::size_t> contents_;
  std::map<const cupilot::ptx::Module*, std::string> texts_;
  std::map<std::string, std::size_t> kept_;
  std::map<std::string, int> seen_;
};

}  // namespace support
