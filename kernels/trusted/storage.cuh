// Storage bits <-> numbers of every element type, one text for host C++ and CUDA, bitwise equal on
// both.
#ifndef CUPILOT_TRUSTED_STORAGE_CUH
#define CUPILOT_TRUSTED_STORAGE_CUH

#if defined(__CUDACC__)
#define CUPILOT_HD __host__ __device__ inline
#else
#define CUPILOT_HD inline
#endif

namespace cupilot {

// The order of DType.
enum StorageType : int {
  storage_f64,
  storage_f32,
  storage_bf16,
  storage_f16,
  storage_e4m3,
  storage_e5m2,
  storage_i64,
  storage_i32,
  storage_i16,
  storage_i8,
  storage_u8,
  storage_bool
};

CUPILOT_HD bool is_float_type(int type) { return type <= storage_e5m2; }

CUPILOT_HD int storage_bytes(int type) {
  switch (type) {
    case storage_f64:
    case storage_i64:
      return 8;
    case storage_f32:
    case storage_i32:
      return 4;
    case storage_bf16:
    case storage_f16:
    case storage_i16:
      return 2;
    default:
      return 1;
  }
}

// IEEE product and sum that no compiler may contract into a fused multiply-add.
CUPILOT_HD double mul_rn(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
CUPILOT_HD double add_rn(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

CUPILOT_HD unsigned long long bits_of(double value) {
  union {
    double number;
    unsigned long long bits;
  } both;
  both.number = value;
  return both.bits;
}
CUPILOT_HD double double_of(unsigned long long bits) {
  union {
    double number;
    unsigned long long bits;
  } both;
  both.bits = bits;
  return both.number;
}
CUPILOT_HD unsigned int bits_of(float value) {
  union {
    float number;
    unsigned int bits;
  } both;
  both.number = value;
  return both.bits;
}
CUPILOT_HD float float_of(unsigned int bits) {
  union {
    float number;
    unsigned int bits;
  } both;
  both.bits = bits;
  return both.number;
}

CUPILOT_HD bool is_nan(double x) { return x != x; }
// A NaN that holds a number of at least zero by its upper bits, 39 of its fraction, behind a bit
// that arithmetic's own NaN has not; and what a NaN holds, NaN where it has not that bit.
CUPILOT_HD double kept_in_nan(double x) {
  return is_nan(x) ? x : double_of(0x7FFC000000000000ull | bits_of(x) >> 13);
}
CUPILOT_HD double kept_of_nan(double nan) {
  const unsigned long long bits = bits_of(nan);
  return (bits >> 50 & 1) != 0 ? double_of((bits & 0x3FFFFFFFFFFFFull) << 13) : nan;
}
CUPILOT_HD bool is_finite(double x) { return x - x == 0.0; }
CUPILOT_HD double magnitude(double x) { return x < 0.0 ? -x : x; }
// 2^e, -1022 <= e <= 1023.
CUPILOT_HD double power_of_two(int e) {
  return double_of(static_cast<unsigned long long>(e + 1023) << 52);
}

// A binary format narrower than fp32: `exponent` and `fraction` bits; e4m3 has no infinity and one
// NaN.
struct SmallFloat {
  int exponent, fraction;
  bool infinity;
};
CUPILOT_HD SmallFloat small_float(int type) {
  switch (type) {
    case storage_bf16:
      return SmallFloat{8, 7, true};
    case storage_f16:
      return SmallFloat{5, 10, true};
    case storage_e4m3:
      return SmallFloat{4, 3, false};
    default:
      return SmallFloat{5, 2, true};
  }
}

// Largest finite value.
CUPILOT_HD double largest_of(int type) {
  switch (type) {
    case storage_f64:
      return double_of(0x7FEFFFFFFFFFFFFFull);
    case storage_f32:
      return 0x1.FFFFFEp127;
    case storage_bf16:
      return 0x1.FEp127;
    case storage_f16:
      return 65504.0;
    case storage_e4m3:
      return 448.0;
    default:
      return 57344.0;
  }
}

// The least magnitude that rounds to infinity (NaN in e4m3).
CUPILOT_HD double overflow_of(int type) {
  switch (type) {
    case storage_f64:
      return largest_of(type);
    case storage_f32:
      return 0x1.FFFFFFp127;
    case storage_bf16:
      return 0x1.FFp127;
    case storage_f16:
      return 65520.0;
    case storage_e4m3:
      return 464.0;
    default:
      return 61440.0;
  }
}

// The fields are a double's once they stand in its places and the exponent counts from its bias. A
// number below the least normal one has no leading bit: it is given one, which is taken away again.
CUPILOT_HD double decode_small(unsigned int bits, SmallFloat format) {
  const int width = format.exponent + format.fraction;
  const int bias = (1 << (format.exponent - 1)) - 1;
  const unsigned long long sign = static_cast<unsigned long long>((bits >> width) & 1u) << 63;
  const unsigned int all = (1u << width) - 1u;
  const unsigned int size = bits & all;
  const unsigned int top = format.infinity ? all - ((1u << format.fraction) - 1u) : all;
  if (size >= top)
    return double_of(format.infinity && size == top ? sign | 0x7FF0000000000000ull
                                                    : 0x7FF8000000000000ull);
  const unsigned long long fields =
      (static_cast<unsigned long long>(size) << (52 - format.fraction)) +
      (static_cast<unsigned long long>(1023 - bias) << 52);
  if ((size >> format.fraction) != 0) return double_of(sign | fields);
  return double_of(sign | bits_of(double_of(fields + (1ull << 52)) - power_of_two(1 - bias)));
}

// Round to nearest even; overflow gives infinity, or NaN where the format has none.
CUPILOT_HD unsigned int encode_small(double value, SmallFloat format) {
  const int width = format.exponent + format.fraction;
  const int bias = (1 << (format.exponent - 1)) - 1;
  const unsigned int sign = static_cast<unsigned int>(bits_of(value) >> 63) << width;
  const unsigned int nan = (1u << width) - 1u;
  const unsigned int infinity =
      format.infinity ? ((1u << format.exponent) - 1u) << format.fraction : nan;
  if (is_nan(value)) return nan;
  const double size = magnitude(value);
  if (!is_finite(size)) return sign | infinity;
  int exponent = static_cast<int>((bits_of(size) >> 52) & 0x7FFu) - 1023;
  if (exponent < 1 - bias) exponent = 1 - bias;
  if (exponent > bias + 1) return sign | infinity;
  // In units of the last place the value is below 2^12, so adding and taking away 2^52 rounds it to
  // an integer, ties to even.
  const double scaled = size * power_of_two(format.fraction - exponent);
  const double whole = add_rn(add_rn(scaled, 4503599627370496.0), -4503599627370496.0);
  const unsigned int steps = static_cast<unsigned int>(whole);
  const unsigned int field = steps < (1u << format.fraction)
                                 ? steps
                                 : (static_cast<unsigned int>(exponent + bias) << format.fraction) +
                                       (steps - (1u << format.fraction));
  return sign | (field >= infinity ? infinity : field);
}

// Storage bits of a number: 16- and 8-bit floats round from the fp32 value; integers take the
// nearest toward zero.
CUPILOT_HD unsigned long long encode(double value, int type) {
  // Host and device convert a NaN to different payloads.
  if (is_nan(value) && type == storage_f32) return 0x7FC00000u;
  switch (type) {
    case storage_f64:
      return bits_of(value);
    case storage_f32:
      return bits_of(static_cast<float>(value));
    case storage_bf16:
    case storage_f16:
    case storage_e4m3:
    case storage_e5m2:
      return encode_small(static_cast<double>(static_cast<float>(value)), small_float(type));
    case storage_bool:
      return value != 0.0 ? 1u : 0u;
    default:
      return static_cast<unsigned long long>(static_cast<long long>(value));
  }
}

template <class T>
CUPILOT_HD T load_as(const void* memory, long long offset) {
#if defined(__CUDA_ARCH__)
  return static_cast<const T*>(memory)[offset];
#else
  T value;  // host memory may have been written as another type
  __builtin_memcpy(
      &value,
      static_cast<const unsigned char*>(memory) + offset * static_cast<long long>(sizeof(T)),
      sizeof(T));
  return value;
#endif
}
template <class T>
CUPILOT_HD void store_as(void* memory, long long offset, T value) {
#if defined(__CUDA_ARCH__)
  static_cast<T*>(memory)[offset] = value;
#else
  __builtin_memcpy(static_cast<unsigned char*>(memory) + offset * static_cast<long long>(sizeof(T)),
                   &value, sizeof(T));
#endif
}

CUPILOT_HD long long load_integer(const void* memory, long long offset, int type) {
  switch (type) {
    case storage_i64:
      return load_as<long long>(memory, offset);
    case storage_i32:
      return load_as<int>(memory, offset);
    case storage_i16:
      return load_as<short>(memory, offset);
    case storage_i8:
      return load_as<signed char>(memory, offset);
    default:
      return load_as<unsigned char>(memory, offset);
  }
}

// Storage bits as they stand, zero-extended.
CUPILOT_HD unsigned long long load_bits(const void* memory, long long offset, int type) {
  switch (storage_bytes(type)) {
    case 8:
      return load_as<unsigned long long>(memory, offset);
    case 4:
      return load_as<unsigned int>(memory, offset);
    case 2:
      return load_as<unsigned short>(memory, offset);
    default:
      return load_as<unsigned char>(memory, offset);
  }
}
CUPILOT_HD void store_bits(void* memory, long long offset, int type, unsigned long long bits) {
  switch (storage_bytes(type)) {
    case 8:
      store_as(memory, offset, bits);
      break;
    case 4:
      store_as(memory, offset, static_cast<unsigned int>(bits));
      break;
    case 2:
      store_as(memory, offset, static_cast<unsigned short>(bits));
      break;
    default:
      store_as(memory, offset, static_cast<unsigned char>(bits));
      break;
  }
}

// The number that storage bits stand for; 64-bit integers beyond 2^53 round.
CUPILOT_HD double decode(unsigned long long bits, int type) {
  switch (type) {
    case storage_f64:
      return double_of(bits);
    case storage_f32:
      return static_cast<double>(float_of(static_cast<unsigned int>(bits)));
    case storage_i64:
      return static_cast<double>(static_cast<long long>(bits));
    case storage_i32:
      return static_cast<double>(static_cast<int>(static_cast<unsigned int>(bits)));
    case storage_i16:
      return static_cast<double>(static_cast<short>(static_cast<unsigned short>(bits)));
    case storage_i8:
      return static_cast<double>(static_cast<signed char>(static_cast<unsigned char>(bits)));
    case storage_u8:
    case storage_bool:
      return static_cast<double>(bits);
    case storage_bf16:
      return static_cast<double>(float_of(static_cast<unsigned int>(bits) << 16));
#if defined(__CUDA_ARCH__)
    case storage_f16: {
      float wide;
      asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(static_cast<unsigned short>(bits)));
      return static_cast<double>(wide);
    }
#endif
    default:
      return decode_small(static_cast<unsigned int>(bits), small_float(type));
  }
}

CUPILOT_HD double load_real(const void* memory, long long offset, int type) {
  return decode(load_bits(memory, offset, type), type);
}

}  // namespace cupilot

#endif
