#include "support/threads_begun.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <climits>

namespace {
std::atomic<long> begun{0}, most{LONG_MAX};
}

long cupilot::testing::threads_begun() { return begun; }

cupilot::testing::ThreadLimit::ThreadLimit(long more) { most = begun + more; }
cupilot::testing::ThreadLimit::~ThreadLimit() { most = LONG_MAX; }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In place of the C library's, which it calls.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* how,
                                                                     void* (*run)(void*),
                                                                     void* argument) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  if (begun >= most) return EAGAIN;
  ++begun;
  return create(thread, how, run, argument);
}
#endif
