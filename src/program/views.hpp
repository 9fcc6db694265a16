// Edges of a program that are views of a buffer: `cat` asks the parts that make its inputs to write
// them where its result has them (docs/programs.md, Views).
#pragma once

#include <map>
#include <string>
#include <vector>

#include <cupilot/family.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// The place of a tensor in the buffer of another.
struct ViewPlace {
  std::string root{};  // the tensor or edge that has the buffer
  Expr offset = 0;     // elements before its first one, over the program's sizes
  std::vector<Expr> strides{};

  bool operator==(const ViewPlace&) const = default;
};

// Inputs of a `cat`, by number, that its own part copies; equal: none.
struct CopiedInputs {
  std::size_t first = 0, end = 0;

  bool operator==(const CopiedInputs&) const = default;
};

struct Views {
  std::map<std::string, ViewPlace> places{};   // of edges, by name
  std::map<std::string, CopiedInputs> cats{};  // by result: those with inputs that are views
};

// Inputs that a `cat` with views copies: their shape side by side, and where they go.
struct CopyPlace {
  std::vector<Expr> shape{};
  ViewPlace view{};
};
CopyPlace copy_place(const Task& program, const Views& views, const Operation& cat,
                     const CopiedInputs& copied);

// Bytes that the address of each view is a multiple of.
inline constexpr std::int64_t view_alignment = 16;

// Finds the edges that may be views without a template less for any part that makes or reads them.
// Those of loops, of what can be prepared, and inputs of a `cat` that lie between copied ones stay
// buffers of their own.
Views find_views(const Task& program, const Families& families);
// Does the same for bodies in place of composites, which keep their own templates too.
struct ComposedTask;
Views find_views(const ComposedTask& program, const Families& families);

}  // namespace cupilot
