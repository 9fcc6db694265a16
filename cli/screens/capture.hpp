// The screens of `capture`, and of `verify` and `sanitize` where they replay launches that it kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/capture.hpp>

namespace cupilot::cli {

// "launch 3 gemm<<<(4,1,1), (256,1,1)>>>"
std::string launch_text(const CapturedLaunch& launch);

// `ended`: how the program did. `limit`: launches that may be kept.
std::string capture_text(const Capture& capture, const std::string& ended, std::int64_t limit);
std::string capture_json(const Capture& capture, const std::string& ended);

// A task judges the values that a launch left. `task`: "gemm at m=64 n=64 k=64 in bf16".
struct JudgedValues {
  std::string task{};
  CapturedValues values{};
};
struct JudgedLaunch {
  const CapturedLaunch* launch = nullptr;
  LaunchReplay replay{};
  std::optional<JudgedValues> judged{};  // where a task was stated
};
std::string replay_text(const JudgedLaunch& judged);
std::string replays_text(const std::vector<JudgedLaunch>& all);
std::string replays_json(const std::vector<JudgedLaunch>& all);
// The exit code: refused or wrong, not done, or 0.
int replays_code(const std::vector<JudgedLaunch>& all);

}  // namespace cupilot::cli
