#include "backend/oracle/inputs.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "base/hash.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

// Fewer elements (some 30 ms of one core) are not worth a thread.
constexpr std::int64_t elements_a_thread = 1 << 20;
constexpr std::int64_t elements_a_look = 1 << 18;  // at the flags that stop the work

// A stopped one leaves elements out.
void fill_on_all_cores(const FillParams& params, std::span<std::byte> bytes) {
  const StopFlags stop = stop_flags();
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::int64_t parts =
      std::clamp<std::int64_t>(params.elements / elements_a_thread, 1, cores);
  const auto fill_part = [&](std::int64_t part) {
    const std::int64_t begin = params.elements / parts * part;
    const std::int64_t end = part + 1 == parts ? params.elements : begin + params.elements / parts;
    for (std::int64_t at = begin; at < end && !stop.wanted(); at += elements_a_look)
      fill(params, bytes, at, std::min(elements_a_look, end - at));
  };
  std::vector<CpuSpent> spent(static_cast<std::size_t>(parts));
  {
    std::vector<std::jthread> helpers;
    for (std::int64_t part = 1; part < parts; ++part) {
      helpers.emplace_back([&, part] {
        spent[static_cast<std::size_t>(part)] = helping_as_device([&] { fill_part(part); });
      });
    }
    fill_part(0);
  }
  for (const CpuSpent& one : spent) credit(one);
}

std::string sizes_key(const Workload& workload) {
  std::string key;
  for (const auto& [axis, extent] : workload.sizes) key += fmt::format(":{}={}", axis, extent);
  return key;
}

}  // namespace

std::string case_key(const std::string& task, const Workload& workload, const Content& content) {
  return fmt::format("{}:{}:{}:{}:{}{}", task, content.seed, static_cast<int>(content.kind),
                     static_cast<int>(content.variation), content.held, sizes_key(workload));
}

std::string given_key(const std::string& task, const Workload& workload,
                      std::span<const TensorBytes> tensors) {
  std::string key = task + sizes_key(workload);
  for (const TensorBytes& one : tensors)
    key += ":" + sha256_hex({reinterpret_cast<const char*>(one.data()), one.size()});
  return key;
}

Result<std::shared_ptr<const TensorBytes>> VirtualInputs::get(const TaskRef& task,
                                                              std::size_t tensor,
                                                              const Workload& workload,
                                                              const Content& content) {
  const auto make = [&]() -> Result<TensorBytes> {
    Result<FillParams> params = fill_params(task, tensor, workload, content);
    if (!params) return params.error();
    TensorBytes bytes(static_cast<std::size_t>(params->span) *
                      static_cast<std::size_t>(size_of(task->tensors[tensor].type)));
    fill_on_all_cores(*params, bytes);
    if (stop_flags().wanted()) return stopped_error();
    return bytes;
  };
  return cache_.get(
      fmt::format("{}:{}", tensor, case_key(task.id(), workload, content)), make,
      [](const TensorBytes& bytes) { return static_cast<std::int64_t>(bytes.size()); });
}

}  // namespace cupilot
