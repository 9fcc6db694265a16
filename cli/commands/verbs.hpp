// The verbs of the program. Each takes what its flags said and returns the process exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cupilot/search.hpp>

namespace cupilot::cli {

struct CommonFlags {
  std::string device = "auto";
  bool json = false;
  bool counters = true;               // read hardware counters where there are any
  std::vector<std::string> families;  // folders of families beside the built-in ones
};

// Models beside the built-in strategist and the templates.
struct SeatFlags {
  // A file of endpoints and roles, handoff:DIR, or URL#MODEL; empty: none.
  std::string models;
  double patience = 0;    // of a handoff, seconds; 0: waits
  std::string tape;       // answers from this tape alone
  std::string statement;  // file: what the task computes, in words or another language
  double share = 0.5;     // of slots that a model proposes for
  int later = 2;          // strategies asked for in each question after the first
  int repairs = 3;        // of a refused kernel
  bool prose = true, alignment = true;
  bool code_crossover = false;
};

struct EvolveFlags {
  CommonFlags common;
  std::vector<std::string> task;    // a family's name with words, a path, or a capture
  std::vector<std::string> stated;  // --task: of a capture
  std::vector<std::string> bind;    // NAME=argN: tensors of the task among a capture's arguments
  std::string entry;                // of a capture or a kernel file, the kernel meant
  std::int64_t evaluations = 200;
  double seconds = 0;            // 0: no limit
  std::int64_t generations = 0;  // 0: no limit
  double target_us = 0;          // 0: none
  std::uint64_t seed = 1;
  int threads = 0;                    // 0: as many as the device can use
  std::string run_dir;                // empty: runs/<time>-<task>
  std::vector<std::string> tunables;  // the user's own templates
  std::string policy = "evolution";   // evolution, random
  SeatFlags seats;
  bool screen = true;                // on a virtual device before a real one
  bool plain = true;                 // time the task's reference as a baseline
  std::vector<std::string> against;  // contestants, kernel files, captures
  std::string shapes;                // a list of shapes: a portfolio instead of one kernel
  int keep = 0;                      // kernels of a portfolio at most; 0: as few as reach `regret`
  double regret = 2;                 // percent
  std::string wisdom;  // file that keeps the portfolio; empty: wisdom.json in the run directory
  SearchFeatures steering{};
  std::string pool;  // file of the strategy pool, or "off"; empty: the user's own
  std::vector<std::string> pool_guard;  // tags of an experiment
};

struct SuiteFlags {
  CommonFlags common;
  std::string suite;                // name or path; empty: what the run directory holds
  std::vector<std::string> only;    // ids
  double seconds = 60;              // a task; 0: no limit
  std::int64_t evaluations = 2000;  // a task
  std::uint64_t seed = 1;
  std::vector<std::string> against;  // contestants
  std::string run_dir;
  std::string pool;          // file of the strategy pool, or "off"; empty: the run directory's own
  std::string pack, unpack;  // archives to write, to read
};

struct PeaksFlags {
  CommonFlags common;
  std::string out;  // the file that keeps them; empty: the user's own
};

struct TasksFlags {
  CommonFlags common;
  std::string suite;  // lists this suite's tasks; empty: the families
};

struct WisdomFlags {
  bool json = false;
  std::string file;
  std::string dispatcher;  // folder to write the dispatcher into; empty: show what the file holds
  int entry = 0;           // from 1; 0: the only one
  std::string name;        // of the dispatcher's class; empty: the task's name
};

struct RunFlags {
  CommonFlags common;
  std::string dir;
  std::string which = "best";
  SeatFlags seats;               // resume
  std::string pool;              // resume: told of the champion, or "off"; empty: the run's own
  std::int64_t evaluations = 0;  // resume: 0 keeps the run's own limit
  double seconds = 0;
  int threads = 0;
  bool other_card = false;  // resume
};

struct ExplainFlags {
  CommonFlags common;
  std::string dir;
  int rounds = 15;
  bool screen = true;
};

struct KernelFlags {
  CommonFlags common;
  std::vector<std::string> files;
  std::vector<std::string> task;
  std::string launch;                // launch-plan JSON file
  std::string entry;                 // of several kernels in the file, the one meant; empty: all
  std::vector<std::string> bind;     // NAME=argN: tensors of the task among a capture's arguments
  std::vector<std::string> include;  // folders of the kernel's own headers
  std::vector<std::string> set;      // NAME=VALUE of a tunable's parameters
  std::vector<std::string> against;  // bench: "cublaslt", "plain"
  int rounds = 15;
  std::uint64_t seed = 1;
  bool screen = true;  // verify: on a virtual device before a real one
  bool as_is = false;  // a strategy of other sizes keeps its numbers where they are legal
  std::string only;    // profile: the launch to show; empty: the one that takes longest
  int line_count = 8;  // profile: source lines to show
};

struct CaptureFlags {
  bool json = false;
  std::string out;              // folder; empty: captures/PROGRAM
  std::int64_t launches = 32;   // distinct ones to keep
  std::int64_t megabytes = 64;  // of an allocation
  std::string entry;            // part of the names of the kernels to keep; empty: all
  std::vector<std::string> program;
};

struct RecordFlags {
  CommonFlags common;
  std::vector<std::string> task;
  std::string dir;
  std::int64_t count = 200;
  bool all = false;  // every feasible strategy
  std::uint64_t seed = 1;
  std::vector<std::string> tunables;
};

struct TaskFlags {
  CommonFlags common;
  std::vector<std::string> task;
  std::string name, family;  // new
};

struct PlanFlags {
  CommonFlags common;
  std::vector<std::string> task;
  std::string models;
  std::int64_t evaluations = 200;
  double share = 0.5;  // of slots that a model proposes for
  int later = 2;       // as in SeatFlags
  int repairs = 3;
};

struct ReplayFlags {
  bool json = false;
  std::string dir;
  std::string policy = "run";  // run, rules, random
  std::int64_t seed = -1;      // -1: the run's
};

int evolve_command(const EvolveFlags& flags);
int portfolio_command(const EvolveFlags& flags);
int suite_command(const SuiteFlags& flags);
int wisdom_command(const WisdomFlags& flags);
int resume_command(const RunFlags& flags);
int plan_command(const PlanFlags& flags);
int replay_command(const ReplayFlags& flags);
int explain_command(const ExplainFlags& flags);
int report_command(const RunFlags& flags);
int show_command(const RunFlags& flags);
int verify_command(const KernelFlags& flags);
int sanitize_command(const KernelFlags& flags);
int profile_command(const KernelFlags& flags);
int capture_command(const CaptureFlags& flags);
// True if a path is a folder that `capture` made, or a launch in one.
bool is_capture(const std::string& path);
// Replays its launches, in so many orders of blocks, warps and lanes.
int judge_capture(const KernelFlags& flags, int orders);
int peaks_command(const PeaksFlags& flags);
int bench_command(const KernelFlags& flags);
int record_command(const RecordFlags& flags);
int task_check_command(const TaskFlags& flags);
int task_new_command(const TaskFlags& flags);
int tunable_import_command();
int tunable_write_command(const KernelFlags& flags);
int tasks_command(const TasksFlags& flags);
int techniques_command(const CommonFlags& flags);
int operators_command(const CommonFlags& flags);
int doctor_command(const CommonFlags& flags);

}  // namespace cupilot::cli
