#include "standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace cupilot::cli {

void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // The lowest number that is free is this one.
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDWR) < 0) return;
  }
}

}  // namespace cupilot::cli
