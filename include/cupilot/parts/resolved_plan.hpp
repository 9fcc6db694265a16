// A launch plan at one workload on one device: pure numbers, the only form that workers and
// exported launchers see.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/launch_plan.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct ResolvedArgument {
  enum class Kind { tensor, buffer, map, immediate, null_pointer, record, texture };
  Kind kind = Kind::immediate;
  int index = 0;  // tensor: of Task::tensors; buffer, map, texture: of the plan
  // immediate: little-endian value of its exact size; record: its numbers in place, zero elsewhere
  std::vector<std::uint8_t> bytes{};
  int at = 0;                              // field of a record: its first byte there
  std::vector<ResolvedArgument> fields{};  // record: its tensors, buffers, maps and textures
};

struct ResolvedBuffer {
  std::string name{};
  std::int64_t bytes = 0;
  BufferContent content = BufferContent::scratch;
};

struct ResolvedMap {
  bool of_buffer = false;
  int index = 0;
  DType type = DType::bf16;
  std::vector<std::int64_t> dims, pitch, box;
  int swizzle = 128;
};

struct ResolvedTexture {
  bool of_buffer = false;
  int index = 0;
  TextureState state{};
  std::array<std::int64_t, 3> sides{1, 1, 1};  // texels of a layer
  int rank = 1;                                // of a layer
  std::int64_t layers = 0;                     // 0: not layered
  std::int64_t pitch = 0;                      // bytes from row to row
};

struct ResolvedLaunch {
  std::string name{};
  std::string entry{};  // source name, {CONSTANT}s filled in
  When when = When::run;
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::array<int, 3> block{1, 1, 1};
  std::array<int, 3> cluster{1, 1, 1};
  std::int64_t shared = 0;
  bool cooperative = false;
  std::vector<ResolvedArgument> args{};
  std::string library{};  // as of PlanLaunch
};

struct ResolvedPlan {
  std::vector<ResolvedBuffer> buffers{};
  std::vector<ResolvedMap> maps{};
  std::vector<ResolvedTexture> textures{};
  std::vector<ResolvedLaunch> launches{};
};

// A `require` of the plan was zero: the kernel does not serve this shape. Not a failure.
struct NotForThisShape {
  std::string require{};
};

using Resolution = std::variant<ResolvedPlan, NotForThisShape>;

// Evaluates the source's plan for one workload. Rejected{write, "plan.*"}: an expression fails or a
// limit of the device is passed (threads, shared memory, grid). `compiled` may be null: then
// resident.L is unknown and its use is a rejection.
Attempt<Resolution> resolve(const KernelSource& source, const Task& task, const Workload& workload,
                            const DeviceSpec& device, const CompiledKernel* compiled);

}  // namespace cupilot
CUPILOT_EXPORTS_END
