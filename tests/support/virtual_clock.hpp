// The real machine, but for time: a sleep costs none of it and moves the clock on.
#pragma once

#include <atomic>

#include <cupilot/parts/host.hpp>

namespace cupilot::testing {

class VirtualClock : public Host {
 public:
  void sleep(double seconds) { slept_ = slept_ + seconds; }
  double slept() const { return slept_; }

  double monotonic_seconds() override { return real_host().monotonic_seconds() + slept_; }
  std::string utc_now() override { return "2026-01-31T12:00:00Z"; }
  Result<std::string> read_file(const std::string& path) override {
    return real_host().read_file(path);
  }
  bool exists(const std::string& path) override { return real_host().exists(path); }
  Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                     bool sync) override {
    return real_host().write_file_atomically(path, bytes, sync);
  }
  Result<void> make_directories(const std::string& path) override {
    return real_host().make_directories(path);
  }
  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path,
                                                  std::int64_t truncate_to) override {
    return real_host().open_append(path, truncate_to);
  }
  Result<std::vector<std::string>> list(const std::string& dir) override {
    return real_host().list(dir);
  }
  Result<std::shared_ptr<void>> lock(const std::string& path) override {
    return real_host().lock(path);
  }

 private:
  std::atomic<double> slept_{0};
};

}  // namespace cupilot::testing
