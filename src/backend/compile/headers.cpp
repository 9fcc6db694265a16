#include "backend/compile/headers.hpp"

#include <vector>

namespace cupilot {
namespace {

constexpr const char* stdint_text = R"(#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
)";

constexpr const char* limits_text = R"(#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807l
#define LONG_MIN (-LONG_MAX - 1l)
#define ULONG_MAX 18446744073709551615ul
#define LLONG_MAX 9223372036854775807ll
#define LLONG_MIN (-LLONG_MAX - 1ll)
#define ULLONG_MAX 18446744073709551615ull
)";

constexpr const char* float_text = R"(#pragma once
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define FLT_EPSILON 1.19209290e-7f
#define DBL_MANT_DIG 53
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_EPSILON 2.2204460492503131e-16
)";

// The functions are built into NVRTC, the constants are not.
constexpr const char* math_text = R"(#pragma once
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000)
#define HUGE_VALF INFINITY
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
)";

// The declarations of these headers are built into NVRTC.
constexpr const char* empty_text = "#pragma once\n";

constexpr StandardHeader standard[] = {
    {"stdint.h", stdint_text}, {"cstdint", stdint_text}, {"limits.h", limits_text},
    {"climits", limits_text},  {"float.h", float_text},  {"cfloat", float_text},
    {"math.h", math_text},     {"cmath", math_text},     {"stddef.h", empty_text},
    {"cstddef", empty_text},   {"assert.h", empty_text}, {"cassert", empty_text},
    {"stdio.h", empty_text},   {"cstdio", empty_text},
};

// cuda::barrier and cuda::pipeline read the clock only to wait longer between polls. Kernels may
// not read it: here it stands still.
constexpr const char* clock_text = R"(#pragma once
_LIBCUDACXX_BEGIN_NAMESPACE_STD
namespace chrono {
_LIBCUDACXX_HIDE_FROM_ABI system_clock::time_point system_clock::now() noexcept { return time_point(); }
}
_LIBCUDACXX_END_NAMESPACE_STD
)";

constexpr StandardHeader stand_ins[] = {
    {"cuda/std/__cuda/chrono.h", clock_text},
};

constexpr const char* toolkit[] = {
    "cuda_fp16.h",
    "cuda_bf16.h",
    "cuda_fp8.h",
    "mma.h",
    "cuda_runtime.h",
    "device_launch_parameters.h",
    "vector_types.h",
    "vector_functions.h",
    "math_constants.h",
    "cuda_pipeline.h",
    "cuda_pipeline_primitives.h",
    "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h",
    "cooperative_groups.h",
    "cooperative_groups/reduce.h",
    "cooperative_groups/scan.h",
    "cooperative_groups/memcpy_async.h",
    "cuda/atomic",
    "cuda/barrier",
    "cuda/pipeline",
    "cuda/ptx",
    "cuda/std/array",
    "cuda/std/bit",
    "cuda/std/cmath",
    "cuda/std/cstdint",
    "cuda/std/limits",
    "cuda/std/type_traits",
    "cuda/std/utility",
};

}  // namespace

std::span<const StandardHeader> standard_headers() { return standard; }

std::span<const StandardHeader> stand_in_headers() { return stand_ins; }

std::span<const std::string> allowed_includes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all(std::begin(toolkit), std::end(toolkit));
    for (const StandardHeader& header : standard) all.emplace_back(header.name);
    return all;
  }();
  return names;
}

}  // namespace cupilot
