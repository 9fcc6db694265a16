#include <cupilot/parts/dtype.hpp>

#include <cmath>

namespace cupilot {
namespace {

struct TypeRow {
  DType type;
  std::string_view name, alias, c_name;
  int size;
  int significand;  // bits kept, the hidden one included; 0: integer
};

constexpr TypeRow types[] = {
    {DType::f64, "fp64", "double", "double", 8, 53},
    {DType::f32, "fp32", "float", "float", 4, 24},
    {DType::bf16, "bf16", "bfloat16", "bf16", 2, 8},
    {DType::f16, "fp16", "half", "fp16", 2, 11},
    {DType::e4m3, "e4m3", "fp8", "e4m3", 1, 4},
    {DType::e5m2, "e5m2", "", "e5m2", 1, 3},
    {DType::i64, "i64", "int64", "long long", 8, 0},
    {DType::i32, "i32", "int32", "int", 4, 0},
    {DType::i16, "i16", "int16", "short", 2, 0},
    {DType::i8, "i8", "int8", "signed char", 1, 0},
    {DType::u8, "u8", "uint8", "unsigned char", 1, 0},
    {DType::boolean, "bool", "", "bool", 1, 0},
};

const TypeRow& row(DType type) { return types[static_cast<int>(type)]; }

struct ClassRow {
  Precision precision;
  std::string_view name;
  double roundoff;
};

constexpr ClassRow classes[] = {
    {Precision::fp64, "fp64", 0x1.0p-53},
    {Precision::fp32_strict, "fp32-strict", 0x1.0p-24},
    {Precision::fp32_emulated, "fp32-emulated", 0x1.0p-21},
    {Precision::bf16x3, "bf16x3", 0x1.0p-16},
    {Precision::tf32, "tf32", 0x1.0p-11},
    {Precision::fp16, "fp16", 0x1.0p-11},
    {Precision::bf16, "bf16", 0x1.0p-8},
    {Precision::fp8_promoted, "fp8-promoted", 0x1.0p-4},
    {Precision::fp8, "fp8", 0x1.0p-4},
    {Precision::integer, "integer", 0.0},
};

}  // namespace

int size_of(DType type) { return row(type).size; }
std::string_view name_of(DType type) { return row(type).name; }
std::string_view c_name(DType type) { return row(type).c_name; }

std::optional<DType> dtype_from(std::string_view name) {
  for (const TypeRow& candidate : types) {
    if (name == candidate.name || (!candidate.alias.empty() && name == candidate.alias))
      return candidate.type;
    // "f32" for "fp32"
    if (candidate.significand > 8 && name.size() == 3 && name[0] == 'f' &&
        name.substr(1) == candidate.name.substr(2)) {
      return candidate.type;
    }
  }
  return std::nullopt;
}

double unit_roundoff(DType type) {
  const int bits = row(type).significand;
  return bits == 0 ? 0.0 : std::ldexp(1.0, -bits);
}

std::string_view name_of(Precision precision) { return classes[static_cast<int>(precision)].name; }

std::optional<Precision> precision_from(std::string_view name) {
  for (const ClassRow& candidate : classes) {
    if (name == candidate.name) return candidate.precision;
  }
  return std::nullopt;
}

Precision strict_class(DType type) {
  switch (type) {
    case DType::f64:
      return Precision::fp64;
    case DType::f32:
      return Precision::fp32_strict;
    case DType::bf16:
      return Precision::bf16;
    case DType::f16:
      return Precision::fp16;
    case DType::e4m3:
    case DType::e5m2:
      return Precision::fp8;
    default:
      return Precision::integer;
  }
}

bool satisfies(Precision offered, Precision asked) {
  if (offered == asked) return true;
  // A row offers every class marked in its columns; fp16 and bf16 stand in for neither of each
  // other: one lacks range, the other significand. Products of tf32 hold every bf16 and fp16
  // operand exactly.
  using P = Precision;
  static constexpr std::pair<P, P> better[] = {
      {P::fp64, P::fp32_strict},
      {P::fp64, P::fp32_emulated},
      {P::fp64, P::bf16x3},
      {P::fp64, P::tf32},
      {P::fp64, P::fp16},
      {P::fp64, P::bf16},
      {P::fp64, P::fp8_promoted},
      {P::fp64, P::fp8},
      {P::fp32_strict, P::fp32_emulated},
      {P::fp32_strict, P::bf16x3},
      {P::fp32_strict, P::tf32},
      {P::fp32_strict, P::fp16},
      {P::fp32_strict, P::bf16},
      {P::fp32_strict, P::fp8_promoted},
      {P::fp32_strict, P::fp8},
      {P::fp32_emulated, P::bf16x3},
      {P::fp32_emulated, P::tf32},
      {P::fp32_emulated, P::fp16},
      {P::fp32_emulated, P::bf16},
      {P::fp32_emulated, P::fp8_promoted},
      {P::fp32_emulated, P::fp8},
      {P::bf16x3, P::bf16},
      {P::bf16x3, P::fp8_promoted},
      {P::bf16x3, P::fp8},
      {P::tf32, P::fp16},
      {P::tf32, P::bf16},
      {P::tf32, P::fp8_promoted},
      {P::tf32, P::fp8},
      {P::fp16, P::fp8_promoted},
      {P::fp16, P::fp8},
      {P::bf16, P::fp8_promoted},
      {P::bf16, P::fp8},
      {P::fp8_promoted, P::fp8},
  };
  for (const auto& [strong, weak] : better) {
    if (strong == offered && weak == asked) return true;
  }
  return false;
}

double input_roundoff(Precision precision) { return classes[static_cast<int>(precision)].roundoff; }

}  // namespace cupilot
