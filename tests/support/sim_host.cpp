#include "support/sim_host.hpp"

#include <algorithm>
#include <optional>

namespace cupilot::testing {

class SimFile : public AppendFile {
 public:
  SimFile(SimHost& host, std::string path)
      : host_(host), path_(std::move(path)), session_(host.session_) {}
  Result<void> append(std::string_view bytes) override {
    if (auto on = host_.power(path_); !on || session_ != host_.session_)
      return SimHost::error_of(DiskFault::io, "write", path_);
    SimHost::File& file = host_.files_[path_];
    if (const auto fault = host_.strike(path_, false)) {
      // A disk that runs full takes a part first.
      const bool part = *fault != DiskFault::io;
      if (part)
        file.bytes += bytes.substr(
            0, static_cast<std::size_t>(host_.rng_.below(static_cast<std::int64_t>(bytes.size()))));
      return SimHost::error_of(*fault, "write", path_);
    }
    file.bytes += bytes;
    return {};
  }
  Result<void> sync() override {
    if (auto on = host_.power(path_); !on || session_ != host_.session_)
      return SimHost::error_of(DiskFault::io, "sync", path_);
    if (const auto fault = host_.strike(path_, true))
      return SimHost::error_of(*fault, "sync", path_);
    SimHost::File& file = host_.files_[path_];
    if (host_.on_durable)
      host_.on_durable(
          path_, std::string_view(file.bytes).substr(std::min(file.durable, file.bytes.size())));
    file.durable = file.bytes.size();
    return {};
  }

 private:
  SimHost& host_;
  std::string path_;
  int session_;
};

// Runs a job when it is submitted, on a clock that begins when a place in the crew is free; its end
// is told when that clock's time has come.
class SimCrew : public ThreadPool {
 public:
  SimCrew(SimHost& host, int size)
      : host_(host), free_at_(static_cast<std::size_t>(std::max(1, size)), 0.0) {}

  std::int64_t submit(std::function<void()> job) override {
    const auto place = std::min_element(free_at_.begin(), free_at_.end());
    host_.in_job_ = true;
    host_.job_now_ = std::max(host_.now_, *place);
    job();
    host_.in_job_ = false;
    *place = host_.job_now_;
    running_.push_back({host_.job_now_, next_});
    return next_++;
  }

  std::vector<std::int64_t> ended(double seconds) override {
    std::sort(running_.begin(), running_.end());
    const double first = running_.empty() ? host_.now_ + seconds : running_.front().first;
    host_.pass_to(std::clamp(first, host_.now_, host_.now_ + seconds));
    std::vector<std::int64_t> numbers;
    while (!running_.empty() && running_.front().first <= host_.now_) {
      numbers.push_back(running_.front().second);
      running_.erase(running_.begin());
    }
    return numbers;
  }

 private:
  SimHost& host_;
  std::vector<double> free_at_;
  std::vector<std::pair<double, std::int64_t>> running_;  // end, number
  std::int64_t next_ = 0;
};

void SimHost::pass_to(double time) {
  now_ = std::max(now_, time);
  if (on_tick) on_tick(now_);
}

void SimHost::spend(double seconds) {
  if (in_job_) {
    job_now_ += seconds;
  } else {
    pass_to(now_ + seconds);
  }
}

std::unique_ptr<ThreadPool> SimHost::crew(int size) {
  return std::make_unique<SimCrew>(*this, size);
}

// Of a file that was appended to, any part of the tail may be there; of one that was replaced, the
// old bytes, none, some or all of the new ones.
void SimHost::lose_unsynced(File& file) {
  const auto part = [&](std::size_t size) {
    return static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(size) + 1));
  };
  if (file.replaced) {
    const std::int64_t what = rng_.below(4);
    if (what == 0) file.bytes = file.before;
    if (what == 1) file.bytes.clear();
    if (what == 2) file.bytes.resize(part(file.bytes.size()));
    file.replaced = false;
  } else {
    const std::size_t tail = file.bytes.size() - std::min(file.durable, file.bytes.size());
    file.bytes.resize(file.bytes.size() - tail + part(tail));
    // The size may be durable where the bytes are not: at the end, or before others that are.
    if (tail > 0 && rng_.chance(0.3) && file.bytes.size() > file.durable) file.bytes.back() = '\0';
    if (tail > 0 && rng_.chance(0.3)) {
      const std::size_t from = file.durable + part(file.bytes.size() - file.durable);
      const std::size_t size = part(file.bytes.size() - from);
      file.bytes.replace(from, size, size, '\0');
    }
  }
  file.durable = file.bytes.size();
  file.linked = true;
}

void SimHost::start() {
  for (auto it = files_.begin(); it != files_.end();) {
    const bool whole =
        it->second.linked && !it->second.replaced && it->second.durable == it->second.bytes.size();
    if (!whole) {
      if (!it->second.linked && rng_.chance(0.5)) {
        it = files_.erase(it);
        continue;
      }
      lose_unsynced(it->second);
    }
    ++it;
  }
  locks_.clear();
  dies_at_ = -1;
  calls_ = 0;
  fail_at_ = -1;
  struck_.clear();
  ++session_;
}

void SimHost::fail_call(int number, DiskFault fault) {
  fail_at_ = number;
  fault_ = fault;
}

Result<void> SimHost::power(const std::string& path) {
  if (!dead()) return {};
  return Error{ErrorCode::failure, "cannot reach " + path + ": the machine is off", ""};
}

std::optional<DiskFault> SimHost::strike(const std::string& path, bool is_sync) {
  const int number = calls_++;
  const bool full = fault_ == DiskFault::full || fault_ == DiskFault::quota;
  const bool due =
      fail_at_ >= 0 && (number == fail_at_ || (stays_full_ && full && number > fail_at_));
  if (!due) return std::nullopt;
  // A fault of syncing waits for a sync, one of writing for a write.
  if ((fault_ == DiskFault::failing_sync) != is_sync && fault_ != DiskFault::io) {
    if (!full || !stays_full_) ++fail_at_;
    return std::nullopt;
  }
  struck_.push_back(path);
  return fault_;
}

bool SimHost::names_struck(const std::string& message) const {
  return std::any_of(struck_.begin(), struck_.end(), [&](const std::string& path) {
    return message.find(path) != std::string::npos;
  });
}

Error SimHost::error_of(DiskFault fault, const std::string& what, const std::string& path) {
  static constexpr const char* reasons[] = {"No space left on device", "Disk quota exceeded",
                                            "Input/output error", "No space left on device",
                                            "Input/output error"};
  return {ErrorCode::failure,
          "cannot " + what + " " + path + ": " + reasons[static_cast<std::size_t>(fault)], ""};
}

Result<std::string> SimHost::read_file(const std::string& path) {
  if (auto on = power(path); !on) return on.error();
  const auto found = files_.find(path);
  if (found != files_.end()) return found->second.bytes;
  return Error{ErrorCode::failure, "cannot read " + path + ": No such file or directory",
               "check the path"};
}

bool SimHost::exists(const std::string& path) { return !dead() && files_.count(path) != 0; }

Result<void> SimHost::write_file_atomically(const std::string& path, std::string_view bytes,
                                            bool sync) {
  if (auto on = power(path); !on) return on;
  if (const auto fault = strike(path, false)) return error_of(*fault, "write", path);
  if (sync) {
    if (const auto fault = strike(path, true)) return error_of(*fault, "write", path);
  }
  File& file = files_[path];
  if (!sync && !file.replaced) file.before = file.bytes;
  file.bytes = bytes;
  file.replaced = !sync;
  if (sync) file.durable = bytes.size();
  if (sync) file.linked = true;
  return {};
}

Result<void> SimHost::make_directories(const std::string& path) {
  if (auto on = power(path); !on) return on;
  if (const auto fault = strike(path, false)) return error_of(*fault, "make directory", path);
  return {};
}

Result<std::unique_ptr<AppendFile>> SimHost::open_append(const std::string& path,
                                                         std::int64_t truncate_to) {
  if (auto on = power(path); !on) return on.error();
  if (const auto fault = strike(path, false)) return error_of(*fault, "open", path);
  File& file = files_[path];
  file.linked = true;
  if (truncate_to >= 0)
    file.bytes.resize(std::min(file.bytes.size(), static_cast<std::size_t>(truncate_to)));
  file.durable = std::min(file.durable, file.bytes.size());
  return std::unique_ptr<AppendFile>(std::make_unique<SimFile>(*this, path));
}

Result<std::vector<std::string>> SimHost::list(const std::string& dir) {
  if (auto on = power(dir); !on) return on.error();
  std::vector<std::string> names;
  for (const auto& [path, file] : files_) {
    if (path.starts_with(dir + "/")) names.push_back(path.substr(dir.size() + 1));
  }
  return names;
}

Result<std::shared_ptr<void>> SimHost::lock(const std::string& path) {
  if (auto on = power(path); !on) return on.error();
  if (const auto fault = strike(path, false)) return error_of(*fault, "lock", path);
  if (!locks_[path].expired())
    return Error{ErrorCode::usage, path + " is locked by process 1",
                 "wait for that process to end"};
  auto held = std::make_shared<int>(0);
  locks_[path] = held;
  return std::shared_ptr<void>(held);
}

}  // namespace cupilot::testing
