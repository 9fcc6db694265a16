// What `profile` says: at most 45 lines of at most 110 columns, and the same as JSON.
#pragma once

#include <string>

#include <cupilot/profile.hpp>

#include "kernel_files.hpp"

namespace cupilot::cli {

// `chosen`: the launch shown in full, with at least `line_count` of its lines. Of several launches the others get a line each.
std::string profile_screen(const OwnKernel& kernel, const Profile& profile, const DeviceSpec& device, std::size_t chosen,
                           int line_count);
std::string profile_json(const OwnKernel& kernel, const Profile& profile, const DeviceSpec& device);

// "kernel.cu" under the user's name for it, and the line in the user's file.
struct UserLine {
  std::string file;
  int line = 0;
  std::string text;
};
UserLine user_line(const OwnKernel& kernel, const ProfiledLine& line);

}  // namespace cupilot::cli
