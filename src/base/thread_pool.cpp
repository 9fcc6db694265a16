// The crew of a real host: threads.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <cupilot/parts/host.hpp>

namespace cupilot {
namespace {

class Threads : public ThreadPool {
 public:
  explicit Threads(int count) {
    try {
      for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {
      close();  // those that began wait for jobs, and nobody runs the destructor
      throw;
    }
  }
  ~Threads() override { close(); }

  std::int64_t submit(std::function<void()> job) override {
    std::int64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = next_++;
      jobs_.push_back({number, std::move(job)});
    }
    wake_.notify_one();
    return number;
  }

  std::vector<std::int64_t> ended(double seconds) override {
    std::unique_lock lock(mutex_);
    done_wake_.wait_for(lock, std::chrono::duration<double>(seconds),
                        [this] { return !done_.empty(); });
    std::vector<std::int64_t> taken = std::move(done_);
    done_.clear();
    return taken;
  }

 private:
  struct Job {
    std::int64_t number = 0;
    std::function<void()> work;
  };

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      jobs_.clear();
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return closing_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job.work();
      job.work = nullptr;
      lock.lock();
      done_.push_back(job.number);
      done_wake_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_wake_;
  std::deque<Job> jobs_;
  std::vector<std::int64_t> done_;
  std::vector<std::thread> threads_;
  std::int64_t next_ = 0;
  bool closing_ = false;
};

}  // namespace

std::unique_ptr<ThreadPool> Host::crew(int size) { return std::make_unique<Threads>(size); }

}  // namespace cupilot
