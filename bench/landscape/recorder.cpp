#include "recorder.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>

#include "rows.hpp"

using namespace cupilot;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int anchor_every = 16;        // kernels between two looks at the anchor
constexpr std::size_t most_ready = 48;  // compiled kernels that may wait for the device

struct Ready {
  const Drawn* drawn = nullptr;
  CompiledKernel kernel{};
};

class Recorder {
 public:
  Recorder(const BenchSubject& subject, Backend& backend, const Counting& counting,
           const RecordRules& rules, std::vector<Drawn> drawn, const std::string& folder)
      : subject_(subject),
        backend_(backend),
        counting_(counting),
        rules_(rules),
        drawn_(std::move(drawn)),
        results_(folder + "/landscape.jsonl"),
        counts_(folder + "/counts.jsonl"),
        begin_(Clock::now()) {}

  Result<std::string> go() {
    if (auto begun = begin(); !begun) return begun.error();
    {
      std::vector<std::jthread> threads;
      compiling_ =
          std::max(1, backend_.traits().parallel_compiles * 3 / 2);  // some count meanwhile
      threads.emplace_back([this] { time_all(); });
      for (int i = 0, all = compiling_; i < all; ++i)
        threads.emplace_back([this] { compile_all(); });
    }
    if (failed_) return *failed_;
    return fmt::format(
        "{}: {} drawn, {} timed, {} same kernels, {} refused, {} counted, {:.1f} s, anchor {:.1f} "
        "to {:.1f} us",
        subject_.name, drawn_.size(), timed_, same_, refused_, counted_.load(), elapsed(),
        anchor_low_, anchor_high_);
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool late() const { return elapsed() > rules_.seconds; }

  // Baselines and the anchor: the first strategy drawn that can be timed.
  Result<void> begin() {
    const Subject contestants[] = {{Subject::Kind::plain, "plain", nullptr},
                                   {Subject::Kind::library, library_name(subject_.task), nullptr}};
    auto baselines =
        backend_.measure(subject_.task, subject_.task->time_shapes.front(), contestants, quick());
    if (!baselines) return baselines.error();
    Header header{subject_.words, rules_.seed, "", std::move(*baselines)};
    for (const Drawn& drawn : drawn_) {
      auto kernel = backend_.compile(drawn.source);
      if (kernel.is_error()) return kernel.error();
      if (!kernel) continue;
      const Subject own[] = {{Subject::Kind::candidate, "anchor", &*kernel}};
      auto timed =
          backend_.measure(subject_.task, subject_.task->time_shapes.front(), own, quick());
      if (!timed) return timed.error();
      if (!timed->front().measurement) continue;
      anchor_ = std::move(*kernel);
      header.anchor = drawn.source.strategy_id;
      break;
    }
    results_ << header_line(subject_.task, backend_, header) << std::flush;
    return {};
  }

  // One launch a round.
  MeasureOptions quick() const { return {rules_.rounds, 0, true, rules_.seed}; }

  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!failed_) failed_ = error;
    room_.notify_all();
    wake_.notify_all();
  }

  void compile_all() {
    for (std::size_t i = next_++; i < drawn_.size() && !late() && !failed(); i = next_++) {
      const Drawn& drawn = drawn_[i];
      auto kernel = backend_.compile(drawn.source);
      if (kernel.is_error()) {
        fail(kernel.error());
        break;
      }
      if (kernel.is_rejected()) {
        write(results_, result_line(drawn, "", kernel.rejected(), 0));
        ++refused_;
        continue;
      }
      const bool to_count = drawn.rank < rules_.counted;
      std::optional<CompiledKernel> copy;
      if (to_count) copy = *kernel;
      hand_over({&drawn, std::move(*kernel)});
      if (to_count) count(drawn, *copy);
    }
    const std::lock_guard lock(mutex_);
    --compiling_;
    wake_.notify_all();
  }

  bool failed() {
    const std::lock_guard lock(mutex_);
    return failed_.has_value();
  }

  void hand_over(Ready ready) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return ready_.size() < most_ready || failed_; });
    ready_.push_back(std::move(ready));
    wake_.notify_one();
  }

  void count(const Drawn& drawn, const CompiledKernel& kernel) {
    auto inputs = counting_.inputs(subject_.task, kernel);
    if (!inputs) return;
    write(counts_, counts_line(drawn, *inputs));
    ++counted_;
  }

  void time_all() {
    while (true) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !ready_.empty() || compiling_ == 0 || failed_; });
      if (failed_ || ready_.empty()) return;
      Ready ready = std::move(ready_.front());
      ready_.pop_front();
      room_.notify_one();
      lock.unlock();
      if (!late()) time(ready);
    }
  }

  void time(const Ready& ready) {
    const std::string& hash = ready.kernel.facts.normalized_hash;
    if (const auto found = known_.find(hash); found != known_.end()) {
      ++same_;
      write(results_, result_line(*ready.drawn, hash, found->second, 0));
      return;
    }
    std::vector<Subject> contestants = {{Subject::Kind::candidate, "candidate", &ready.kernel}};
    const bool with_anchor = anchor_ && timed_ % anchor_every == 0;
    if (with_anchor) contestants.push_back({Subject::Kind::candidate, "anchor", &*anchor_});
    auto reports =
        backend_.measure(subject_.task, subject_.task->time_shapes.front(), contestants, quick());
    if (!reports) return fail(reports.error());
    const Attempt<Measurement>& own = reports->front().measurement;
    if (own.is_error()) return fail(own.error());
    double anchor_us = 0;
    if (with_anchor && reports->back().measurement)
      anchor_us = reports->back().measurement->time_us;
    if (anchor_us > 0) {
      anchor_low_ = anchor_low_ == 0 ? anchor_us : std::min(anchor_low_, anchor_us);
      anchor_high_ = std::max(anchor_high_, anchor_us);
    }
    ++(own ? timed_ : refused_);
    write(results_, result_line(*ready.drawn, hash, own, anchor_us));
    known_.emplace(hash, own);
  }

  void write(std::ofstream& file, const std::string& line) {
    const std::lock_guard lock(file_mutex_);
    file << line << std::flush;
  }

  const BenchSubject& subject_;
  Backend& backend_;
  const Counting& counting_;
  const RecordRules rules_;
  const std::vector<Drawn> drawn_;
  std::ofstream results_, counts_;
  const Clock::time_point begin_;
  std::optional<CompiledKernel> anchor_;
  std::atomic<std::size_t> next_{0};
  std::atomic<int> refused_{0}, counted_{0}, timed_{0};
  int same_ = 0;
  double anchor_low_ = 0, anchor_high_ = 0;
  std::map<std::string, Attempt<Measurement>> known_;  // by hash of the PTX; of the timing thread
  std::mutex mutex_, file_mutex_;
  std::condition_variable room_, wake_;
  std::deque<Ready> ready_;
  int compiling_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::string> record(const BenchSubject& subject, Backend& backend, const Counting& counting,
                           const RecordRules& rules, std::vector<Drawn> drawn,
                           const std::string& folder) {
  return Recorder(subject, backend, counting, rules, std::move(drawn), folder).go();
}
