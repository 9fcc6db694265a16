#include "backend/worker/confine.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <sched.h>

#include "backend/worker/library.hpp"
#include "backend/worker/sandbox.hpp"

namespace cupilot {
namespace {

constexpr std::uint64_t most_files = 512, most_file_bytes = 64 << 20;

// Opens only those files of /proc that describe the machine: other processes' environments, the
// controller's among them, stay closed.
std::vector<std::string> readable_places() {
  std::vector<std::string> places = toolkit_library_folders();
  for (const char* place :
       {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/nvidia", "/etc/ld.so.cache",
        "/proc/driver/nvidia", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/devices",
        "/sys/bus", "/sys/devices"})
    places.emplace_back(place);
  const char* searched = std::getenv("LD_LIBRARY_PATH");
  std::string_view left = searched != nullptr ? searched : "";
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(':'), left.size());
    if (end > 0) places.emplace_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return places;
}

std::vector<std::string> device_files() {
  std::vector<std::string> files{"/dev/null", "/dev/nvidia-caps"};
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    const std::string name = entry.path().filename();
    if (name.rfind("nvidia", 0) == 0 && !entry.is_directory(ignored)) files.push_back(entry.path());
  }
  return files;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

std::string confine_before_device(ConfineLevel level) {
  std::vector<std::string> held;
  held.emplace_back(limit_process({0, 0, most_file_bytes, most_files})
                        ? "rlimits, no new privileges"
                        : "no rlimits");
  if (level != ConfineLevel::limits_only) {
    held.emplace_back(unshare(CLONE_NEWNET) == 0 ? "no network" : "the host's network");
    held.emplace_back(unshare(CLONE_NEWIPC) == 0 ? "own IPC" : "the host's IPC");
  }
  return joined(held);
}

std::string confine_after_device(ConfineLevel level, const std::vector<std::string>& libraries) {
  std::vector<std::string> held, read = readable_places();
  read.insert(read.end(), libraries.begin(), libraries.end());
  const bool files = level == ConfineLevel::full && confine_files(read, device_files());
  held.push_back(
      files ? fmt::format("Landlock {} (libraries to read, GPU device files)", landlock_version())
            : std::string("no Landlock"));
  const bool calls = level != ConfineLevel::limits_only && confine_calls(true);
  held.emplace_back(calls ? "seccomp (no programs, processes, sockets, ptrace)" : "no seccomp");
  return joined(held);
}

}  // namespace cupilot
