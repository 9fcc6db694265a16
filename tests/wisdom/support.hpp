// Portfolios without a search: sampled kernels of the built-in templates, compiled.
#pragma once

#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/wisdom.hpp>

#include "support/gemm.hpp"

namespace support {

struct Portfolio {
  cupilot::WisdomEntry entry;
  std::vector<cupilot::CompiledKernel> kernels;  // as in the entry
};

inline Portfolio portfolio(const cupilot::Task& task, cupilot::Backend& backend,
                           std::vector<cupilot::KernelSource> sources) {
  using namespace cupilot;
  Portfolio all;
  all.entry.task = task;
  all.entry.device = backend.identity();
  all.entry.device_label = "NVIDIA H200";
  all.entry.compute_major = 9;
  for (KernelSource& source : sources) {
    auto compiled = backend.compile(source);
    if (!compiled) throw std::runtime_error("a kernel of the portfolio does not compile");
    WisdomKernel kernel{"kernel_" + std::to_string(all.kernels.size() + 1),
                        compiled->id,
                        "none",
                        source,
                        compiled->arch,
                        compiled->compiler};
    for (const EntryFacts& entry : compiled->entries)
      kernel.entries.emplace_back(entry.source_name, entry.name);
    kernel.image = compiled->cubin;
    all.entry.kernels.push_back(kernel);
    all.kernels.push_back(std::move(*compiled));
  }
  all.entry.fallback = static_cast<int>(all.kernels.size()) - 1;
  return all;
}

// One sampled kernel of every template that serves the task.
inline std::vector<cupilot::KernelSource> sampled_sources(const cupilot::Task& task) {
  using namespace cupilot;
  const DeviceSpec device = *chip("h200");
  const auto space = make_space(task, device, builtin_tunables());
  const auto writer = template_writer(builtin_tunables());
  std::vector<KernelSource> sources;
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Strategy strategy = sample(**space, Rng::of(3, "wisdom", i));
    WriterBrief brief{TaskRef(task), &strategy, &device};
    auto source = writer->write(brief);
    if (source && seen.insert(source->template_name).second) sources.push_back(std::move(*source));
  }
  return sources;
}

}  // namespace support
