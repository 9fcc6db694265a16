// The i-th allocation fails: no exception leaves the library, the journal stays whole, and the run
// goes on afterwards.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>
#include <optional>

#include "base/json.hpp"
#include "catch.hpp"
#include "endurance/short_run.hpp"

#ifndef __SANITIZE_ADDRESS__  // which has its own operator new

namespace {
// Allocations until one fails; negative: none does.
std::atomic<long> allocations_left{-1};
std::atomic<long> allocations{0};
std::atomic<bool> counting{false};  // what all threads count together slows those of other cases

void* allocate(std::size_t size) {
  if (counting.load(std::memory_order_relaxed)) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (allocations_left.load(std::memory_order_relaxed) >= 0 && allocations_left.fetch_sub(1) == 0)
      throw std::bad_alloc();
  }
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

struct Counting {
  Counting() { counting = true; }
  ~Counting() { counting = false; }
};

enum Ending {
  as_expected = 0,
  damaged_journal = 1,
  not_resumed = 2,
  other_end = 3,
  by_signal = 100
};

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
  return WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status);
}

}  // namespace

template <class Json>
void destroyed_without_memory() {
  const char* text =
      R"({"a":[1,[2,{"b":"more than a string keeps in itself"}],[]],"c":{"d":{"e":[[null]]}}})";
  std::optional<Json> json = Json::parse(text);
  const long before = allocations;
  REQUIRE(before > 0);
  json.reset();
  CHECK(allocations == before);
}

// JSON values are destroyed wherever an error is told, and their destructors must not throw.
TEST_CASE("JSON values are destroyed without memory") {
  const Counting on;
  destroyed_without_memory<SortedJson>();
  destroyed_without_memory<OrderedJson>();
}

// CUPILOT_ALLOCATIONS of them fail, each in a run of its own, from CUPILOT_FIRST_ALLOCATION on.
TEST_CASE("an allocation that fails in a search is told as an error") {
  const Counting on;
  const long before = allocations;
  ShortRun whole(8);
  const long prepared = allocations - before;
  REQUIRE(whole.go_on());
  const long all = allocations - before - prepared;
  const std::string expected = whole.essence();
  const char* asked =
      std::getenv("CUPILOT_ALLOCATIONS");  // how many of them fail, each in a run of its own
  const char* first = std::getenv("CUPILOT_FIRST_ALLOCATION");
  const long stride = std::max(1L, all / (asked != nullptr ? std::atol(asked) : 80));
  int failed = 0;
  for (long allocation = first != nullptr ? std::atol(first) : 0; allocation < all;
       allocation += stride) {
    INFO("allocation " << allocation << " of " << all);
    ++failed;
    CHECK(fails_at(allocation, expected) == as_expected);
  }
  WARN(failed << " of " << all << " allocations failed, each in a run of its own");
}

#endif
