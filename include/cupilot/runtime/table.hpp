// Contents of a generated dispatcher header: kernels, their launch plans as functions of the sizes,
// and the choice by shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cupilot/runtime/expression.hpp>

namespace cupilot::runtime {
inline namespace CUPILOT_RUNTIME_VERSION {

enum class Content { scratch, zeroed, restored, table };
struct Buffer {
  Content content;
  Int bytes;
};
struct Map {
  bool of_buffer;
  int index, type, swizzle;  // type, swizzle: CUtensorMapDataType, CUtensorMapSwizzle
  std::vector<Int> dims, pitch, box;
};
// tensor, buffer or map by index; immediate by its bytes; null pointer; record: fields in place,
// zero elsewhere.
struct Argument {
  enum Kind { tensor, buffer, map, immediate, null_pointer, record } kind;
  int index = 0;
  Int number = 0;  // immediate: its bits
  int bytes = 8;   // immediate: 1, 2, 4 or 8; record
  int at = 0;      // field of a record: its first byte there
  std::vector<Argument> fields = {};
};
struct Launch {
  const char* entry;
  bool setup, cooperative;
  Int grid[3], block[3], cluster[3], shared;
  std::vector<Argument> arguments;
};
struct Plan {
  bool fits = false;  // serves these sizes; nothing else is set if not
  std::vector<Buffer> buffers;
  std::vector<Map> maps;
  std::vector<Launch> launches;
};

// Device numbers that a plan may use; `resident`: blocks that the whole device holds at once.
struct Device {
  Int sms, shared, threads, registers, l2, blocks, cc;
};
struct Query {
  const Int* sizes;  // in the order of Table::axes
  Device device;
  Int (*resident)(const void* context, const char* entry, Int threads, Int shared);
  const void* context;
};

struct Kernel {
  const char* name;
  const char* strategy;
  const unsigned char* image;  // cubin
  std::size_t image_bytes;
  Plan (*plan)(const Query& query);
};
struct Shape {
  std::vector<std::int64_t> sizes;
  std::vector<int> order;  // kernels proved at it, fastest first
};
struct Tensor {
  const char* name;
  std::int64_t alignment;  // bytes; kernels may assume it of the base address
};
struct Table {
  const char* task;
  std::string device;  // device that the kernels were chosen on, by the driver's name
  int major, minor;    // its compute capability: the images run on no other
  std::vector<const char*> axes;
  std::vector<Tensor> tensors;
  std::vector<Kernel> kernels;
  std::vector<Shape> shapes;
  int fallback;  // a kernel without conditions on the sizes; -1: none
};

}  // namespace CUPILOT_RUNTIME_VERSION
}  // namespace cupilot::runtime
