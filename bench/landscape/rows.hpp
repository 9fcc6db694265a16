// Lines of a recorded landscape (docs/formats/landscape.md) and of the counts beside it.
#pragma once

#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/verdict.hpp>

#include "draw.hpp"

struct Header {
  std::vector<std::string> words{};  // of the task
  std::uint64_t seed = 1;
  std::string anchor{};  // strategy id of the kernel that is timed again now and then
  std::vector<cupilot::SubjectReport> baselines{};
};

std::string header_line(const cupilot::Task& task, const cupilot::Backend& backend,
                        const Header& header);
// What became of one strategy. `anchor_us`: of the anchor timed in the same rounds; 0: it was not.
std::string result_line(const Drawn& drawn, const std::string& kernel_hash,
                        const cupilot::Attempt<cupilot::Measurement>& measured, double anchor_us);
// The time model's input for its launches.
std::string counts_line(const Drawn& drawn, const std::vector<cupilot::ModelInput>& launches);

// The first `most` timed strategies of a template ("all": of any) of a landscape, written anew.
struct Recorded {
  cupilot::Task task{};
  cupilot::DeviceSpec device{};
  std::vector<std::string> words{};  // of the task
  std::vector<Drawn> drawn{};
};
cupilot::Result<Recorded> rows_of(const std::string& path, const std::string& template_name,
                                  int most);
