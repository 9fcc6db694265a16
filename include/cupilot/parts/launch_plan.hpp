// A kernel's launches as data: no host code is ever taken from a model. JSON form:
// docs/formats/launch-plan.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <cupilot/parts/dtype.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/expr.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// scratch: poisoned before each run. zeroed: cleared inside the timed region. restored: zero before
// each run and left zero by it. table: written by setup launches, read-only afterwards.
enum class BufferContent { scratch, zeroed, restored, table };
struct PlanBuffer {
  std::string name{};
  Expr bytes = 0;
  BufferContent content = BufferContent::scratch;
};

// A cuTensorMapEncodeTiled map, passed by value as 128 bytes. dims innermost first; pitch in bytes,
// one fewer than dims.
struct PlanTensorMap {
  std::string name{};
  std::string of{};  // tensor or buffer
  DType type = DType::bf16;
  std::vector<Expr> dims{};
  std::vector<Expr> pitch{};
  std::vector<Expr> box{};
  int swizzle = 128;  // bytes: 0, 32, 64, 128
};

// A texture or surface object over a tensor or buffer, passed by value as its 64-bit handle.
enum class TextureMemory { linear, pitch2d, array };
enum class TextureType { u8, s8, u16, s16, u32, s32, f16, f32 };
enum class TextureAddress { clamp, border, wrap, mirror };
struct TextureState {
  bool surface = false;
  TextureMemory memory = TextureMemory::array;
  TextureType type = TextureType::f32;  // of a channel
  int channels = 1;                     // 1, 2, 4
  bool layered = false;                 // the last of dims counts layers
  TextureAddress address = TextureAddress::clamp;
  bool linear = false;           // filter: linear, not the nearest point
  bool normalized = false;       // coordinates
  bool normalized_read = false;  // 8- and 16-bit integers read as fractions
};
struct PlanTexture {
  std::string name{};
  std::string of{};  // tensor or buffer
  TextureState state{};
  std::vector<Expr> dims{};  // texels, innermost first
  Expr pitch = 0;            // bytes from row to row; pitch2d alone
};

// An argument: a name (tensor, scalar, buffer, map, texture; a trailing '?' makes an absent tensor
// a null pointer), a typed number, or a record: a struct by value, its bytes zero but for its
// fields.
struct PlanArgument {
  enum class Kind { name, i8, i16, i32, i64, f32, f64, record };
  Kind kind = Kind::name;
  std::string name{};
  Expr value = 0;                      // of i8 to i64
  double number = 0;                   // of f32, f64
  int bytes = 0;                       // record: 1 to 4096
  int at = 0;                          // field of a record: its first byte there
  std::vector<PlanArgument> fields{};  // record: anything but a record
};

enum class When { run, setup };
// `library`: "cublaslt", where the device has it, computes what the entry computes, which stands in
// elsewhere; the arguments are those of a product (docs/formats/launch-plan.md, Library steps).
struct PlanLaunch {
  std::string name{};   // default: entry; expressions resident.NAME and NAME.ctas use it
  std::string entry{};  // may hold {CONSTANT} template arguments: "stencil7<{BX},{BY}>"
  When when = When::run;
  std::vector<Expr> grid = {1};   // 1 to 3
  std::vector<Expr> block = {1};  // 1 to 3
  std::vector<Expr> cluster{};    // empty: none
  Expr shared = 0;                // dynamic bytes
  bool cooperative = false;
  std::vector<PlanArgument> args{};
  std::string library{};
};

struct LaunchPlan {
  std::vector<Expr> require{};  // any zero: not for this shape, no rejection
  std::vector<std::pair<std::string, Expr>> let{};
  std::vector<PlanBuffer> buffers{};
  std::vector<PlanTensorMap> maps{};
  std::vector<PlanTexture> textures{};
  std::vector<PlanLaunch> launches{};
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
