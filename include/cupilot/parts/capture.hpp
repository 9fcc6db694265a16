// Launches of a real program, as `cupilot capture` keeps them, and their replay on the virtual
// device.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// An allocation that a launch's arguments reach, or the part of it that was kept.
struct CapturedBuffer {
  std::uint64_t address = 0, bytes = 0;   // of the allocation on the device
  std::uint64_t kept_from = 0, kept = 0;  // address and bytes of what was kept
  std::string before{}, after{};          // files in the folder; empty: not kept
};

struct CapturedVariable {
  std::string name{};
  std::uint64_t bytes = 0;
  std::string before{};
};

struct CapturedLaunch {
  std::int64_t number = 0;
  int device = 0;
  std::string module{}, entry{};  // module: a key of Capture::modules; empty: unknown
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::int64_t shared = 0;  // dynamic bytes
  bool cooperative = false;
  std::vector<std::uint8_t> arguments{};
  std::vector<std::uint64_t> parameters{};  // offset and size of each argument, in turn
  std::vector<std::uint64_t> pointers{};    // offsets of words that name device memory
  std::vector<CapturedBuffer> buffers{};
  std::vector<CapturedVariable> variables{};
  bool ended = false;         // the program lived to see its end
  int result = 0;             // of the driver
  std::string result_name{};  // "CUDA_ERROR_ILLEGAL_ADDRESS"
  std::int64_t times = 1;     // launches like it
};

struct CapturedModule {
  std::string kind{};              // "ptx", "fatbin", "cubin"
  std::string file{};              // in the folder
  std::vector<std::string> ptx{};  // files of PTX that others had beside it
};

struct CapturedDevice {
  std::string name{};
  int driver = 0, capability = 0;  // 13000; 90
  int sms = 0;
  std::int64_t shared = 0;  // bytes a block
};

// Launches that were met and not kept.
struct CaptureUnkept {
  std::int64_t beyond = 0;    // the number of launches to keep
  std::int64_t other = 0;     // of other kernels than those asked for
  std::int64_t recorded = 0;  // while a graph was recorded
  std::int64_t graphs = 0;    // graphs, of any number of launches
  std::int64_t unknown = 0;   // arguments that the driver does not describe
};

struct Capture {
  std::string folder{};
  std::vector<std::string> programs{};  // that reached the driver
  std::map<int, CapturedDevice> devices{};
  std::map<std::string, CapturedModule> modules{};
  std::vector<CapturedLaunch> launches{};
  CaptureUnkept unkept{};
};

// Reads a folder of docs/formats/capture.md. What a program that died left unfinished is left out.
// Error usage: it is none.
Result<Capture> read_capture(const std::string& folder);

// Keeps, beside each cubin without PTX, the PTX that a just-in-time compiler's cache has beside the
// same cubin: Triton's. Returns how many it found. `folders`: caches.
Result<int> find_cached_ptx(const Capture& capture, const std::vector<std::string>& folders);

enum class ReplayOutcome {
  same,     // no fault, and the device's bytes
  rounded,  // no fault, and the device's values but for roundings
  safe,     // no fault; the content after cannot be compared
  differs,  // no fault, and other values than the device's
  refused,  // a fault
  not_done,
};

struct LaunchReplayOptions {
  int orders = 1;                             // of blocks, warps and lanes to run it in
  std::uint64_t instructions = 300'000'000u;  // of warps, for all blocks; past it some are drawn
};

struct LaunchReplay {
  ReplayOutcome outcome = ReplayOutcome::not_done;
  Rejected fault{};      // refused
  std::string reason{};  // not_done, safe, differs; empty elsewhere
  std::string next{};    // step after not_done
  std::int64_t blocks = 0, blocks_run = 0;
  std::uint64_t written = 0;  // bytes that the replay wrote
  double ulps = 0;            // rounded: the most units in the last place that a value is off
  std::string type{};         // rounded, differs: type that values were compared in
  std::string notice{};       // of what the replay rests on: PTX for another chip
  std::string ptx{};          // the text that ran
};

// Replays a launch with its buffers at their own addresses, every access checked. Error: the folder
// cannot be read.
Result<LaunchReplay> replay_launch(const Capture& capture, const CapturedLaunch& launch,
                                   const LaunchReplayOptions& options = {});

// A launch as a kernel of a task: its PTX without the module's other kernels, and a launch plan for
// the sizes of the task's first time shape alone.
struct CapturedKernel {
  KernelSource source{};
  std::string says{};  // "arg0 is x, arg1 is y"
};
// `bound`: "x=arg0" gives a tensor, or a scalar, the launch's argument of that number; "x=arg2+8",
// eight bytes into it. The other tensors take the other pointers in order, outputs those whose
// memory the launch changed. Pointers that no tensor takes become buffers of the plan. Error usage:
// they do not match; not_done: the module has no PTX of the kernel, or it takes tensor maps.
Result<CapturedKernel> captured_kernel(const Capture& capture, const CapturedLaunch& launch,
                                       const Task& task, const std::vector<std::string>& bound);

enum class ValuesOutcome { right, wrong, not_done };

// The values that a launch left, against a task's reference over the content that it met.
struct CapturedValues {
  ValuesOutcome outcome = ValuesOutcome::not_done;
  std::vector<OutputReport> outputs{};
  Rejected fault{};            // wrong
  std::string reason{};        // not_done; empty elsewhere
  std::string next{};          // step after not_done
  std::string says{};          // "arg0 is x, arg1 is y"
  std::int64_t unchanged = 0;  // elements of pure outputs that held the same before the launch
};
// Judges each output at the launch's sizes and content, which need no text of the kernel: of large
// ones drawn elements. Accesses, races, and other contents and sizes are not judged. `device`: a
// virtual one. `bound`: as of captured_kernel(). Error usage: the arguments do not tell which are
// the tensors, or hold what the task leaves out; not_done: the capture left out a part of them.
Result<CapturedValues> captured_values(Device& device, const Capture& capture,
                                       const CapturedLaunch& launch, const Task& task,
                                       const std::vector<std::string>& bound);

// True of fat binaries and of objects, libraries, programs and cubins.
bool is_binary(const std::string& path);
// The PTX that such a file carries: of those that name `entry` (empty: of all) the one for the
// latest architecture up to `arch` (90). Error usage: there is none, or several modules have one.
Result<std::string> embedded_ptx(const std::string& path, std::string_view entry, int arch);

}  // namespace cupilot
CUPILOT_EXPORTS_END
