// The roles of the program cupilot-worker. Each serves its channel (descriptor 3) until the controller goes away.
#pragma once

namespace cupilot {

int serve_compiles();
int serve_probe();
int serve_judge(int device);
int serve_runner(int device);

// argv[1] names the role: compile, probe, judge, runner; argv[2] the device of the last two. Returns the exit status.
int worker_main(int argc, char** argv);

}  // namespace cupilot
