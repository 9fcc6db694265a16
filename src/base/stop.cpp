#include "base/stop.hpp"

#include <utility>

namespace cupilot {
namespace {

thread_local StopFlags flags_of_thread;

}  // namespace

StopFlags stop_flags() { return flags_of_thread; }

StopScope::StopScope(StopFlags flags) : outer_(std::exchange(flags_of_thread, flags)) {}
StopScope::~StopScope() { flags_of_thread = outer_; }

Error stopped_error() {
  return {ErrorCode::failure, "stopped before it ended", "run it again to go on"};
}

}  // namespace cupilot
