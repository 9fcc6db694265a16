// How many threads this process has started so far; 0 under a sanitizer, which has a pthread_create of its own.
#pragma once

namespace cupilot::testing {

long threads_begun();

}  // namespace cupilot::testing
