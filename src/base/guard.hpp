// Turns what a library under us throws (memory, threads, a file system's surprises) into an Error
// at the edge of a public function.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <system_error>

#include <cupilot/result.hpp>

namespace cupilot {

// Returns the Result or Attempt of `work`, or Error{failure} in place of an exception.
template <class Work>
auto guarded(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::failure, "out of memory", ""};  // short enough to need none
  } catch (const std::system_error& fault) {
    const bool full = fault.code() == std::errc::resource_unavailable_try_again;
    return Error{
        ErrorCode::failure, full ? std::string("no more threads: ") + fault.what() : fault.what(),
        full ? "raise the limit on processes (ulimit -u), or ask for fewer at a time (--threads)"
             : ""};
  } catch (const std::exception& fault) {
    return Error{ErrorCode::failure, fault.what(), ""};
  }
}

}  // namespace cupilot
