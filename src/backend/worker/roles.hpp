// The roles of the program cupilot-worker. Each serves its channel (descriptor 3) until the
// controller goes away.
#pragma once

#include <string>
#include <vector>

namespace cupilot {

// Start words of a device's process.
struct DeviceRole {
  int device = 0, confinement = 0;   // confinement: a ConfineLevel
  std::vector<std::string> cudnn{};  // names and paths of the library, tried in order
};

int serve_compiles();
int serve_probe(const std::vector<std::string>& cudnn);
int serve_judge(const DeviceRole& role);
int serve_runner(const DeviceRole& role);
int serve_counter(const DeviceRole& role);

// argv[1] names the role: compile, probe, judge, runner, counter; argv[2] and argv[3] the device
// and confinement of the last three. Names of cuDNN follow those of all but the first. Returns the
// exit status.
int worker_main(int argc, char** argv);

}  // namespace cupilot
