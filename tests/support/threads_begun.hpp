// How many threads this process has started so far; 0 under a sanitizer, which has a pthread_create
// of its own.
#pragma once

namespace cupilot::testing {

long threads_begun();

// As on a machine at its limit: while this lives, so many more threads begin and the next ones are
// refused. Without effect under a sanitizer.
class ThreadLimit {
 public:
  explicit ThreadLimit(long more);
  ThreadLimit(const ThreadLimit&) = delete;
  ~ThreadLimit();
};

}  // namespace cupilot::testing
