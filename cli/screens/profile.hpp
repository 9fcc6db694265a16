// The screen of `profile`: at most 45 lines of at most 110 columns, and the same as JSON.
#pragma once

#include <string>

#include <cupilot/parts/profile.hpp>

#include "kernel_files.hpp"

namespace cupilot::cli {

// `chosen`: the launch shown in full, with at least `line_count` of its lines. Of several launches
// the others get a line each.
std::string profile_screen(const OwnKernel& kernel, const Profile& profile,
                           const DeviceSpec& device, std::size_t chosen, int line_count);
std::string profile_json(const OwnKernel& kernel, const Profile& profile, const DeviceSpec& device);

// Text of the kernel under the user's name for its file and with its line there; of other files no
// text is at hand.
struct UserLine {
  std::string file;
  int line = 0;
  std::string text;
};
UserLine user_line(const OwnKernel& kernel, const ProfiledLine& line);

}  // namespace cupilot::cli
