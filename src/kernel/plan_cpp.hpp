// A launch plan as C++ text, by the members of cupilot/runtime/table.hpp's Plan. Its numbers are
// texts too: digits where the plan is resolved, expressions where it is not.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/resolved_plan.hpp>

namespace cupilot {

struct PlanCpp {
  struct Buffer {
    BufferContent content = BufferContent::scratch;
    std::string bytes;
  };
  struct Map {
    bool of_buffer = false;
    int index = 0;
    DType type = DType::bf16;
    int swizzle = 0;               // bytes
    std::string dims, pitch, box;  // lists in braces
  };
  struct Argument {
    ResolvedArgument::Kind kind = ResolvedArgument::Kind::null_pointer;
    int index = 0;
    std::string number;            // immediate: its bits
    int bytes = 8;                 // immediate, record
    std::string remark;            // a comment behind it; "": none
    int at = 0;                    // of a field
    std::vector<Argument> fields;  // record: also of its numbers
  };
  struct Launch {
    std::string entry;
    bool setup = false, cooperative = false;
    std::string grid, block, cluster;  // lists of three in braces
    std::string shared;
    std::vector<Argument> arguments;
  };
  std::vector<Buffer> buffers;
  std::vector<Map> maps;
  std::vector<Launch> launches;
};

PlanCpp plan_cpp(const ResolvedPlan& plan);
// Assigns the members of a Plan called `plan`, a statement each; those that are empty are left out.
std::string assignments(const PlanCpp& plan);
// The types that assignments() fills, for a program that does not include the runtime.
std::string_view plan_types();
// Text as a C++ string literal.
std::string cpp_quoted(const std::string& text);

}  // namespace cupilot
