#include "backend/worker/roles.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>

#include "backend/worker/process.hpp"

namespace cupilot {

int worker_main(int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "";
  if (fcntl(worker_channel, F_GETFD) < 0 || role.empty()) {
    std::fputs(
        "cupilot-worker serves the cupilot library over an inherited channel; it is not run by "
        "hand\n",
        stderr);
    return 2;
  }
  if (role == "compile") return serve_compiles();
  const auto words_from = [&](int first) {
    return first < argc ? std::vector<std::string>(argv + first, argv + argc)
                        : std::vector<std::string>();
  };
  if (role == "probe") return serve_probe(words_from(2));
  const DeviceRole device{argc > 2 ? std::atoi(argv[2]) : 0, argc > 3 ? std::atoi(argv[3]) : 0,
                          words_from(4)};
  if (role == "judge") return serve_judge(device);
  if (role == "runner") return serve_runner(device);
  if (role == "counter") return serve_counter(device);
  std::fprintf(stderr, "cupilot-worker: no role %s\n", argv[1]);
  return 2;
}

}  // namespace cupilot
