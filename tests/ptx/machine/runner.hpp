// Compiles, loads and runs kernels on the virtual device for the tests of this folder.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ptx/machine/execute.hpp"
#include "ptx/machine/record.hpp"
#include "ptx/machine/tensor_map.hpp"
#include "ptx/syntax/parser.hpp"
#include "support/nvrtc.hpp"

namespace support {

namespace ptx = cupilot::ptx;

inline std::shared_ptr<const ptx::Module> module_of(const std::string& text) {
  auto parsed = ptx::parse(text);
  if (parsed.is_rejected())
    throw std::runtime_error(parsed.rejected().message + " at " + parsed.rejected().where);
  auto out = std::make_shared<const ptx::Module>(std::move(*parsed));
  if (Recorder* recorder = Recorder::get()) recorder->name_text(out.get(), text);
  return out;
}

// Of CUDA text, compiled once a process.
inline std::shared_ptr<const ptx::Module> module_of_cuda(const std::string& text) {
  static std::map<std::string, std::shared_ptr<const ptx::Module>> made;
  auto& out = made[text];
  if (!out) out = module_of(compile_ptx(text));
  return out;
}

// Memory, buffers and launches of one kernel.
class Device {
 public:
  template <class T>
  std::size_t input(const std::string& name, const std::vector<T>& values) {
    const std::size_t index = *memory.add(name, values.size() * sizeof(T), ptx::Access::read_only);
    if (!values.empty())
      std::memcpy(memory.data(index).data(), values.data(), values.size() * sizeof(T));
    return index;
  }
  std::size_t output(const std::string& name, std::size_t bytes) {
    return *memory.add(name, bytes, ptx::Access::read_write);
  }
  template <class T>
  std::vector<T> values(std::size_t index) const {
    const auto bytes = memory.data(index);
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }

  // Arguments: a Pointer for a buffer, a TensorMap for a map, else the value itself.
  struct Pointer {
    std::size_t index;
  };
  template <class... A>
  ptx::Report run(const std::shared_ptr<const ptx::Module>& module, std::string_view entry,
                  ptx::Dim3 grid, ptx::Dim3 block, std::uint32_t shared, const A&... arguments) {
    auto program = ptx::make_program(module, entry);
    if (program.is_rejected())
      throw std::runtime_error(program.rejected().message + " at " + program.rejected().where);
    if (program.is_error()) throw std::runtime_error(program.error().message);
    ptx::Launch launch{.grid = grid, .block = block, .dynamic_shared = shared, .parameters = {}};
    launch.cluster = cluster;
    launch.cooperative = cooperative;
    launch.registers = registers;
    const ptx::ParameterLayout layout = ptx::parameter_layout(*module->entry(entry));
    launch.parameters.resize(layout.bytes);
    launch.textures = textures;
    std::size_t i = 0;
    patches_.clear();
    (put(launch, layout, i++, arguments), ...);
    Recorder* recorder = Recorder::get();
    const auto before =
        recorder != nullptr ? Recorder::copy(memory) : std::vector<std::vector<std::uint8_t>>();
    auto report = ptx::execute(**program, memory, launch, options);
    if (report.is_rejected()) throw std::runtime_error(report.rejected().message);
    if (report.is_error()) throw std::runtime_error(report.error().message);
    if (recorder != nullptr && report->faults.empty() && options.blocks.empty())
      recorder->keep(module.get(), entry, launch, patches_, memory, before);
    return std::move(*report);
  }

  // Returns the handle of a texture or surface, which is an argument.
  std::uint64_t bind(ptx::TextureObject object) {
    textures.push_back(std::move(object));
    return ptx::handle_of(textures.size() - 1);
  }

  std::vector<ptx::TextureObject> textures;
  ptx::DeviceMemory memory;
  ptx::ExecuteOptions options;
  ptx::Dim3 cluster{};
  bool cooperative = false;
  std::uint32_t registers = 0;

 private:
  std::vector<Patch> patches_;

  template <class T>
  void put(ptx::Launch& launch, const ptx::ParameterLayout& layout, std::size_t i, const T& value) {
    if constexpr (std::is_same_v<T, ptx::TensorMap>) {
      const auto bytes = ptx::encode(value);
      patches_.push_back({layout.offsets.at(i), true, value.address});
      std::memcpy(launch.parameters.data() + layout.offsets.at(i), bytes.data(), bytes.size());
    } else if constexpr (std::is_same_v<T, Pointer>) {
      const std::uint64_t address = memory.address(value.index);
      patches_.push_back({layout.offsets.at(i), false, address});
      std::memcpy(launch.parameters.data() + layout.offsets.at(i), &address, 8);
    } else {
      std::memcpy(launch.parameters.data() + layout.offsets.at(i), &value, sizeof(value));
    }
  }
};

// Faults of a report as text: "" when there are none.
inline std::string faults_of(const ptx::Report& report) {
  std::string out;
  for (const ptx::Fault& f : report.faults)
    out += f.code + ": " + f.message + " @ " + f.where + "\n";
  return out;
}

}  // namespace support
