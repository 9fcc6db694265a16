#include <cstring>

#include "backend/worker/roles.hpp"
#include "http/exchange.hpp"

// HTTP is linked here alone, not into the libraries.
int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "http") == 0) return cupilot::serve_http();
  return cupilot::worker_main(argc, argv);
}
