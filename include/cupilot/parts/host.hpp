// The interface to the controller's machine: clock, files and threads. A simulated one is in
// tests/support. Any thread; one thread at a time for each AppendFile and ThreadPool.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// An open append-only file. Every error names the file and the errno text.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  virtual Result<void> append(std::string_view bytes) = 0;
  virtual Result<void> sync() = 0;  // after a failure the file must not be used again
};

// Runs jobs in parallel. Its destructor drops jobs that did not begin and waits for the others.
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  // A job that throws ends the process. Returns the job's number: 0, 1, 2 …
  virtual std::int64_t submit(std::function<void()> job) = 0;
  // Returns the numbers of jobs that ended since the last call, in that order; waits at most
  // `seconds` for one.
  virtual std::vector<std::int64_t> ended(double seconds) = 0;
};

class Host {
 public:
  virtual ~Host() = default;
  virtual double monotonic_seconds() = 0;
  // CPU seconds of the calling thread; always 0 where time is simulated.
  virtual double thread_cpu_seconds();
  virtual std::string utc_now() = 0;  // "2026-01-31T12:00:00Z"
  virtual Result<std::string> read_file(const std::string& path) = 0;
  // Reads at most `size` bytes from `offset` on, fewer at the end of the file.
  virtual Result<std::string> read_part(const std::string& path, std::int64_t offset,
                                        std::int64_t size);
  virtual bool exists(const std::string& path) = 0;
  virtual Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                             bool sync) = 0;  // by a temporary file and rename
  // Like write_file_atomically(), from consecutive pieces, so that large contents need no copy.
  virtual Result<void> write_pieces_atomically(const std::string& path,
                                               std::span<const std::string_view> pieces, bool sync);
  virtual Result<void> make_directories(const std::string& path) = 0;
  virtual Result<std::unique_ptr<AppendFile>> open_append(
      const std::string& path, std::int64_t truncate_to) = 0;  // -1: keep all
  virtual Result<std::vector<std::string>> list(const std::string& dir) = 0;
  // Takes an exclusive advisory lock for the process's life; Error{usage} names the holder's pid.
  virtual Result<std::shared_ptr<void>> lock(const std::string& path) = 0;
  // Makes a pool of at most `size` jobs at a time; default: threads.
  virtual std::unique_ptr<ThreadPool> crew(int size);
};

Host& real_host();

}  // namespace cupilot
CUPILOT_EXPORTS_END
