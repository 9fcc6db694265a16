// Values of staged references on the virtual device.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "task/reference/program.hpp"
#include "task/reference/stage_plan.hpp"

namespace cupilot::testing {

struct StagedValues {
  std::vector<double> values, sums;
};

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<std::uint8_t> out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

// The first time shape of a task, as `program` (its tracked build) within `module` computes it.
// `inputs`: bytes of what is read, in the task's order.
class StagedRun {
 public:
  StagedRun(const Task& task, const ReferenceProgram& program,
            std::shared_ptr<const ptx::Module> module,
            const std::vector<std::vector<std::uint8_t>>& inputs)
      : task_(task), program_(program), module_(std::move(module)) {
    for (const auto& bytes : inputs) head_.push_back(address(device_.input("in", bytes)));
    for (const Axis& axis : task.axes)
      head_.push_back(static_cast<std::uint64_t>(task.time_shapes[0].sizes.at(axis.name)));
  }

  // Of one output; `store`: stages are stored, else computed where they are read.
  StagedValues values(const std::string& output, std::int64_t count, bool store) {
    const StagePlan plan = *stage_plan(task_, program_, ReferenceBuild::tracked,
                                       task_.time_shapes[0], output, count, store);
    std::vector<std::uint64_t> buffers, head = head_;
    for (const std::int64_t bytes : plan.buffers)
      buffers.push_back(address(device_.output("stage", static_cast<std::size_t>(bytes))));
    const auto place = [&](int buffer) {
      return buffer < 0 ? 0 : buffers[static_cast<std::size_t>(buffer)];
    };
    for (const int buffer : plan.stored) head.push_back(place(buffer));
    for (const StageLaunch& stage : plan.launches) {
      run(stage.entry, stage.count, head,
          {place(stage.from), place(stage.out), static_cast<std::uint64_t>(stage.span),
           static_cast<std::uint64_t>(stage.parts), static_cast<std::uint64_t>(stage.from_parts),
           static_cast<std::uint64_t>(stage.count)});
    }
    const std::size_t values = device_.output("values", static_cast<std::size_t>(count) * 8);
    const std::size_t sums = device_.output("sums", static_cast<std::size_t>(count) * 8);
    const std::size_t begins = device_.input("begins", std::vector<long long>{0});
    run(plan.entry, count, head,
        {address(values), address(sums), address(begins), static_cast<std::uint64_t>(count),
         static_cast<std::uint64_t>(count)});
    return {device_.values<double>(values), device_.values<double>(sums)};
  }

 private:
  std::uint64_t address(std::size_t buffer) { return device_.memory.address(buffer); }

  void run(const std::string& entry, std::int64_t threads, std::vector<std::uint64_t> words,
           const std::vector<std::uint64_t>& more) {
    words.insert(words.end(), more.begin(), more.end());
    ptx::Launch launch;
    launch.block.x = 256;
    launch.grid.x = static_cast<std::uint32_t>((threads + 255) / 256);
    launch.parameters = bytes_of(words);
    const auto made = ptx::make_program(module_, entry);
    REQUIRE(made);
    const auto report = ptx::execute(**made, device_.memory, launch, {});
    REQUIRE(report);
    REQUIRE(support::faults_of(*report) == "");
  }

  const Task& task_;
  const ReferenceProgram& program_;
  std::shared_ptr<const ptx::Module> module_;
  support::Device device_;
  std::vector<std::uint64_t> head_;
};

}  // namespace cupilot::testing
