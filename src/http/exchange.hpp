// One exchange over HTTP or HTTPS, in this process, and the worker's role that serves it. The
// library itself holds no HTTP: a program may bring another build of cpp-httplib.
#pragma once

#include "llm/http.hpp"

namespace cupilot {

HttpReply exchange(const HttpRequest& request);

// Serves one request of the channel (descriptor 3); returns the exit status.
int serve_http();

}  // namespace cupilot
