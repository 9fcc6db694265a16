// Storage types, and the numeric classes ("precision") in which results are proved and ranked.
#pragma once

#include <optional>
#include <string_view>

#include <cupilot/parts/export.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

enum class DType { f64, f32, bf16, f16, e4m3, e5m2, i64, i32, i16, i8, u8, boolean };

int size_of(DType type);               // bytes
std::string_view name_of(DType type);  // "fp32", "bf16", "fp16", "i32", "bool" …
std::optional<DType> dtype_from(
    std::string_view name);           // Also accepts "f32", "float"; nullopt when unknown.
double unit_roundoff(DType type);     // 2^-24 for fp32; 0 for integers
std::string_view c_name(DType type);  // "float"; 16- and 8-bit floats by their bit type

// The arithmetic class that a kernel was proved to satisfy. Names count products: tf32x3 and bf16x6
// are fp32-emulated. In fp8 the tensor core accumulates a whole sum with few bits; in fp8-promoted
// at most 128 terms of it, and fp32 the rest.
enum class Precision {
  fp64,
  fp32_strict,
  fp32_emulated,
  bf16x3,
  tf32,
  fp16,
  bf16,
  fp8_promoted,
  fp8,
  integer
};

std::string_view name_of(Precision precision);  // "fp32-strict"
std::optional<Precision> precision_from(std::string_view name);

// Returns the strict class of a storage type: fp32 -> fp32-strict, bf16 -> bf16.
Precision strict_class(DType type);

// True if arithmetic of class `offered` satisfies the contract `asked`: a partial order in a table
// (fp16 does not satisfy bf16, nor the reverse).
bool satisfies(Precision offered, Precision asked);

// Returns the unit roundoff of operands entering products of this class (2^-24 strict, 2^-11 tf32
// and fp16, 2^-8 bf16 …).
double input_roundoff(Precision precision);

}  // namespace cupilot
CUPILOT_EXPORTS_END
