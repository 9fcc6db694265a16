// The roles of the program cupilot-worker. Each serves its channel (descriptor 3) until the
// controller goes away.
#pragma once

namespace cupilot {

int serve_compiles();
int serve_probe();
// `confinement`: a ConfineLevel.
int serve_judge(int device, int confinement);
int serve_runner(int device, int confinement);
int serve_counter(int device, int confinement);

// argv[1] names the role: compile, probe, judge, runner, counter; argv[2] and argv[3] the device
// and confinement of the last three. Returns the exit status.
int worker_main(int argc, char** argv);

}  // namespace cupilot
