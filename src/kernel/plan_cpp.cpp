#include "kernel/plan_cpp.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace cupilot {
namespace {

constexpr std::string_view types = R"(using Int = std::int64_t;
enum class Content { scratch, zeroed, restored, table };
struct Buffer { Content content; Int bytes; };
struct Map { bool of_buffer; int index, type, swizzle; std::vector<Int> dims, pitch, box; };
struct Argument {
  enum Kind { tensor, buffer, map, immediate, null_pointer, record } kind;
  int index = 0;
  Int number = 0;  // immediate: its bits
  int bytes = 8;   // immediate, record
  int at = 0;      // field of a record: its first byte there
  std::vector<Argument> fields = {};
};
struct Launch { const char* entry; bool setup, cooperative; Int grid[3], block[3], cluster[3], shared; std::vector<Argument> arguments; };
struct Plan { std::vector<Buffer> buffers; std::vector<Map> maps; std::vector<Launch> launches; };
)";

// CUtensorMapDataType of cuda.h.
int map_type(DType type) {
  switch (type) {
    case DType::i16:
      return 1;
    case DType::i32:
      return 3;
    case DType::i64:
      return 5;
    case DType::f16:
      return 6;
    case DType::f32:
      return 7;
    case DType::f64:
      return 8;
    case DType::bf16:
      return 9;
    default:
      return 0;  // bytes
  }
}

// CUtensorMapSwizzle of cuda.h.
int map_swizzle(int bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }

std::string text(const PlanCpp::Buffer& buffer) {
  static constexpr const char* names[] = {"scratch", "zeroed", "restored", "table"};
  return fmt::format("{{Content::{}, {}}}", names[static_cast<int>(buffer.content)], buffer.bytes);
}

std::string text(const PlanCpp::Map& map) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}}}", map.of_buffer, map.index, map_type(map.type),
                     map_swizzle(map.swizzle), map.dims, map.pitch, map.box);
}

std::string text(const PlanCpp::Argument& argument);

std::string text(const std::vector<PlanCpp::Argument>& arguments) {
  std::string all;
  for (const PlanCpp::Argument& argument : arguments)
    all += (all.empty() ? "" : ", ") + text(argument);
  return "{" + all + "}";
}

// Members that hold their defaults are left out at the end.
std::string text(const PlanCpp::Argument& argument) {
  using Kind = ResolvedArgument::Kind;
  static constexpr const char* names[] = {"tensor",    "buffer",       "map",
                                          "immediate", "null_pointer", "record"};
  const Kind kind = argument.kind;
  const bool sized = kind == Kind::immediate || kind == Kind::record;
  std::string out = fmt::format("{{Argument::{}", names[static_cast<int>(kind)]);
  const bool whole = sized || argument.at > 0;
  if (kind != Kind::null_pointer || whole) out += fmt::format(", {}", argument.index);
  if (whole)
    out += fmt::format(", {}, {}", kind == Kind::immediate ? argument.number : "0", argument.bytes);
  if (argument.at > 0 || kind == Kind::record) out += fmt::format(", {}", argument.at);
  if (kind == Kind::record) out += ", " + text(argument.fields);
  out += "}";
  return argument.remark.empty() ? out : out + " /* " + argument.remark + " */";
}

std::string text(const PlanCpp::Launch& launch) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}}}", cpp_quoted(launch.entry), launch.setup,
                     launch.cooperative, launch.grid, launch.block, launch.cluster, launch.shared,
                     text(launch.arguments));
}

template <class List>
std::string assigned(const char* member, const List& list) {
  std::string out;
  for (const auto& one : list) out += (out.empty() ? "" : ",\n      ") + text(one);
  return list.empty() ? std::string() : fmt::format("  plan.{} = {{\n      {}}};\n", member, out);
}

template <class Numbers>
std::string digits(const Numbers& numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ", "));
}

// Up to eight bytes, little-endian, as a number.
PlanCpp::Argument number_of(const std::uint8_t* from, int bytes) {
  std::uint64_t bits = 0;
  for (int i = bytes; i > 0; --i) bits = bits << 8 | from[i - 1];
  std::int64_t number = static_cast<std::int64_t>(bits);
  if (bytes == 4) number = static_cast<std::int32_t>(bits);
  PlanCpp::Argument out;
  out.kind = ResolvedArgument::Kind::immediate;
  out.number = fmt::format("std::int64_t{{{}}}", number);
  out.bytes = bytes;
  return out;
}

PlanCpp::Argument argument_of(const ResolvedArgument& argument) {
  const auto bytes = static_cast<int>(argument.bytes.size());
  if (argument.kind == ResolvedArgument::Kind::immediate)
    return number_of(argument.bytes.data(), bytes);
  PlanCpp::Argument out;
  out.kind = argument.kind;
  out.index = argument.index;
  out.at = argument.at;
  if (argument.kind != ResolvedArgument::Kind::record) return out;
  out.bytes = bytes;
  for (int at = 0; at < bytes; at += 8) {
    const int some = std::min(8, bytes - at);
    const std::uint8_t* from = &argument.bytes[static_cast<std::size_t>(at)];
    if (std::all_of(from, from + some, [](std::uint8_t byte) { return byte == 0; })) continue;
    out.fields.push_back(number_of(from, some));
    out.fields.back().at = at;
  }
  for (const ResolvedArgument& field : argument.fields) out.fields.push_back(argument_of(field));
  return out;
}

}  // namespace

PlanCpp plan_cpp(const ResolvedPlan& plan) {
  PlanCpp out;
  for (const ResolvedBuffer& buffer : plan.buffers)
    out.buffers.push_back({buffer.content, std::to_string(buffer.bytes)});
  for (const ResolvedMap& map : plan.maps)
    out.maps.push_back({map.of_buffer, map.index, map.type, map.swizzle, digits(map.dims),
                        digits(map.pitch), digits(map.box)});
  for (const ResolvedLaunch& launch : plan.launches) {
    out.launches.push_back({launch.entry,
                            launch.when == When::setup,
                            launch.cooperative,
                            digits(launch.grid),
                            digits(launch.block),
                            digits(launch.cluster),
                            std::to_string(launch.shared),
                            {}});
    for (const ResolvedArgument& argument : launch.args)
      out.launches.back().arguments.push_back(argument_of(argument));
  }
  return out;
}

std::string assignments(const PlanCpp& plan) {
  return assigned("buffers", plan.buffers) + assigned("maps", plan.maps) +
         assigned("launches", plan.launches);
}

std::string_view plan_types() { return types; }

std::string cpp_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

}  // namespace cupilot
