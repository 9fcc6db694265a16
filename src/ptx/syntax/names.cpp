// Spellings of opcodes, types and spaces, and what follows from them.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {
namespace {

struct TypeRow {
  Type type;
  std::string_view name;
  std::uint32_t bytes;
  bool is_float;
  bool is_signed;
};

constexpr TypeRow type_table[] = {
    {Type::none, "", 0, false, false},        {Type::pred, "pred", 0, false, false},
    {Type::b8, "b8", 1, false, false},        {Type::b16, "b16", 2, false, false},
    {Type::b32, "b32", 4, false, false},      {Type::b64, "b64", 8, false, false},
    {Type::b128, "b128", 16, false, false},   {Type::u8, "u8", 1, false, false},
    {Type::u16, "u16", 2, false, false},      {Type::u32, "u32", 4, false, false},
    {Type::u64, "u64", 8, false, false},      {Type::s8, "s8", 1, false, true},
    {Type::s16, "s16", 2, false, true},       {Type::s32, "s32", 4, false, true},
    {Type::s64, "s64", 8, false, true},       {Type::f16, "f16", 2, true, false},
    {Type::f16x2, "f16x2", 4, true, false},   {Type::bf16, "bf16", 2, true, false},
    {Type::bf16x2, "bf16x2", 4, true, false}, {Type::f32, "f32", 4, true, false},
    {Type::f32x2, "f32x2", 8, true, false},   {Type::f64, "f64", 8, true, false},
    {Type::tf32, "tf32", 4, true, false},     {Type::e4m3, "e4m3", 1, true, false},
    {Type::e5m2, "e5m2", 1, true, false},     {Type::e4m3x2, "e4m3x2", 2, true, false},
    {Type::e5m2x2, "e5m2x2", 2, true, false}, {Type::u16x2, "u16x2", 4, false, false},
    {Type::s16x2, "s16x2", 4, false, true},   {Type::b1, "b1", 1, false, false},
    {Type::u4, "u4", 1, false, false},        {Type::s4, "s4", 1, false, true},
};

const TypeRow& row(Type type) { return type_table[static_cast<std::size_t>(type)]; }

constexpr std::string_view opcode_names[] = {"unknown",
#define X(name) #name,
                                             CUPILOT_PTX_OPCODES(X)
#undef X
};

}  // namespace

std::string_view name_of(Type type) { return row(type).name; }
std::uint32_t bytes_of(Type type) { return row(type).bytes; }
bool is_float(Type type) { return row(type).is_float; }
bool is_signed(Type type) { return row(type).is_signed; }

std::optional<Type> type_named(std::string_view name) {
  if (name.empty()) return std::nullopt;
  const auto found = std::find_if(std::begin(type_table), std::end(type_table),
                                  [&](const TypeRow& r) { return r.name == name; });
  if (found == std::end(type_table)) return std::nullopt;
  return found->type;
}

std::string_view name_of(Space space) {
  constexpr std::string_view names[] = {"generic", "reg",   "param", "shared",
                                        "global",  "local", "const"};
  return names[static_cast<std::size_t>(space)];
}

std::string_view name_of(Opcode opcode) { return opcode_names[static_cast<std::size_t>(opcode)]; }

Opcode opcode_named(std::string_view name) {
  static const std::unordered_map<std::string_view, Opcode> map = [] {
    std::unordered_map<std::string_view, Opcode> out;
    for (std::size_t i = 1; i < std::size(opcode_names); ++i)
      out.emplace(opcode_names[i], static_cast<Opcode>(i));
    return out;
  }();
  const auto found = map.find(name);
  return found == map.end() ? Opcode::unknown : found->second;
}

bool Form::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::vector<std::uint64_t> Function::directive(std::string_view directive_name) const {
  for (const Directive& d : directives) {
    if (d.name == directive_name) return d.values;
  }
  return {};
}

const Function* Module::entry(std::string_view name) const {
  for (const Function& f : functions) {
    if (f.is_entry && f.name == name) return &f;
  }
  return nullptr;
}

std::string_view Module::file(std::uint32_t number) const {
  for (const SourceFile& f : files) {
    if (f.number == number) return f.path;
  }
  return {};
}

}  // namespace cupilot::ptx
