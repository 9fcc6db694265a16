// A machine that exists only here: virtual time, files with what a crash leaves of them, jobs of
// one thread in virtual order. The same calls in the same order give the same answers. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/host.hpp>
#include <cupilot/rng.hpp>

namespace cupilot::testing {

// What strikes a call that changes the disk.
enum class DiskFault { full, quota, io, short_write, failing_sync };

class SimHost : public Host {
 public:
  explicit SimHost(Rng rng) : rng_(rng) {}

  // Time. A job's clock runs on its own from when it begins; spend() moves the clock of whoever
  // calls.
  double monotonic_seconds() override { return in_job_ ? job_now_ : now_; }
  double thread_cpu_seconds() override { return 0; }
  std::string utc_now() override { return "2026-01-31T12:00:00Z"; }
  void spend(double seconds);
  std::unique_ptr<ThreadPool> crew(int size) override;

  // Power. From that moment on every call fails; start() loses what was not synced and begins anew.
  void die_at(double seconds) { dies_at_ = seconds; }
  bool dead() { return dies_at_ >= 0 && monotonic_seconds() >= dies_at_; }
  void start();

  // Disk. The call with that number, of those that change it, counted from the last start, fails in
  // that way (-1: none).
  void fail_call(int number, DiskFault fault);
  // It stays full from then on, as real ones do.
  void stay_full(bool stays) { stays_full_ = stays; }
  int calls() const { return calls_; }
  // The path of the call that failed; "": none did.
  std::string struck() const { return struck_.empty() ? "" : struck_.front(); }
  // Whether a message names a file that a disk fault struck: on a disk that stays full the first
  // may be one that nobody needs.
  bool names_struck(const std::string& message) const;

  // TellStatus the bytes that became durable at the end of an append-only file.
  std::function<void(const std::string& path, std::string_view bytes)> on_durable;
  // TellStatus now and then: what comes from outside, such as a signal.
  std::function<void(double now)> on_tick;

  Result<std::string> read_file(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                     bool sync) override;
  Result<void> make_directories(const std::string& path) override;
  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path,
                                                  std::int64_t truncate_to) override;
  Result<std::vector<std::string>> list(const std::string& dir) override;
  Result<std::shared_ptr<void>> lock(const std::string& path) override;

 private:
  friend class SimFile;
  friend class SimCrew;
  struct File {
    std::string bytes;
    std::size_t durable = 0;  // of them
    bool linked = false;      // its name is durable
    bool replaced = false;    // by bytes that are not durable; `before` is what was
    std::string before;
  };
  Result<void> power(const std::string& path);
  // What strikes this call; nullopt: nothing.
  std::optional<DiskFault> strike(const std::string& path, bool is_sync);
  static Error error_of(DiskFault fault, const std::string& what, const std::string& path);
  void lose_unsynced(File& file);
  void pass_to(double time);

  Rng rng_;
  double now_ = 0, job_now_ = 0, dies_at_ = -1;
  bool in_job_ = false;
  std::map<std::string, File> files_;
  std::map<std::string, std::weak_ptr<void>> locks_;
  int calls_ = 0, fail_at_ = -1;
  DiskFault fault_ = DiskFault::io;
  bool stays_full_ = false;
  std::vector<std::string> struck_;
  int session_ = 0;  // of power; files opened in an earlier one are gone
};

}  // namespace cupilot::testing
