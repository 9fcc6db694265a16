// The i-th allocation fails: no exception leaves the library, the journal stays whole, and the run goes on afterwards.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>

#include "catch.hpp"
#include "endurance/short_run.hpp"

#ifndef __SANITIZE_ADDRESS__  // which has its own operator new

namespace {
// Allocations until one fails; negative: none does.
std::atomic<long> allocations_left{-1};
std::atomic<long> allocations{0};

void* allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (allocations_left.load(std::memory_order_relaxed) >= 0 && allocations_left.fetch_sub(1) == 0) throw std::bad_alloc();
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

using namespace cupilot;
using namespace cupilot::testing;

namespace {

enum Ending { as_expected = 0, damaged_journal = 1, not_resumed = 2, other_end = 3, by_abort = 100 + SIGABRT };

// In a child, so that std::terminate is an ending too.
int fails_at(long allocation, const std::string& expected) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // the parent tells
    std::set_terminate(std::abort);
    ShortRun run(8);
    allocations_left = allocation;
    const auto report = run.go_on();
    allocations_left = -1;
    int ending = as_expected;
    if (!is_valid(run.journal())) ending = damaged_journal;
    run.host.start();
    if (ending == as_expected && !run.go_on()) ending = not_resumed;
    if (ending == as_expected && run.essence() != expected) ending = other_end;
    ::_exit(ending);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

}  // namespace

// The destructor of a JSON document (nlohmann 3.11) allocates; where that fails the process ends, as by kill -9. No other end
// without a word is let pass, and this one is rare.
TEST_CASE("an allocation that fails in a search is told as an error") {
  const long before = allocations;
  ShortRun whole(8);
  const long prepared = allocations - before;
  REQUIRE(whole.go_on());
  const long all = allocations - before - prepared;
  const std::string expected = whole.essence();
  const char* asked = std::getenv("CUPILOT_ALLOCATIONS");  // how many of them fail, each in a run of its own
  const char* first = std::getenv("CUPILOT_FIRST_ALLOCATION");
  const long stride = std::max(1L, all / (asked != nullptr ? std::atol(asked) : 80));
  int failed = 0, aborted = 0;
  for (long allocation = first != nullptr ? std::atol(first) : 0; allocation < all; allocation += stride) {
    INFO("allocation " << allocation << " of " << all);
    const int ending = fails_at(allocation, expected);
    ++failed;
    aborted += ending == by_abort ? 1 : 0;
    INFO("ending " << ending);
    CHECK((ending == as_expected || ending == by_abort));
  }
  INFO(aborted << " of " << failed << " ended by abort");
  CHECK(aborted <= failed / 6);
}

#endif
