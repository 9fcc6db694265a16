// Strategies for a landscape: drawn from everything that is legal, so many of each template.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/task.hpp>

struct Drawn {
  cupilot::Strategy strategy{};
  cupilot::KernelSource source{};
  int rank = 0;  // among those of its template, in the order of the draw
};

// About `count` different strategies, templates interleaved so that any beginning of them is a fair
// draw too. A template's own estimate of what is hopeless is not asked: landscapes hold slow
// kernels.
std::vector<Drawn> draw(const cupilot::Task& task, const cupilot::DeviceSpec& device, int count,
                        std::uint64_t seed);
