// Counts the work of an instruction: a multiply-add is two operations, a tensor instruction 2 m n k
// for the warp. An operation that a chip has no instruction for counts as its assembler's sequence
// for ordinary numbers, as seen on an H200 (docs/results/counters).
#include <string>

#include "ptx/machine/decode.hpp"

namespace cupilot::ptx {
namespace {

// wmma on fp16 names only the types of the sums.
Work tensor_work(const Form& form) {
  if (form.types.size() < 2) return {};
  const Type factors =
      form.opcode == Opcode::op_wmma && form.types.size() == 2 ? Type::f16 : form.types[1];
  for (const std::string& m : form.modifiers) {
    const std::size_t n_at = m.find('n'), k_at = m.find('k');
    if (m[0] != 'm' || n_at == std::string::npos || k_at == std::string::npos || k_at < n_at)
      continue;
    const auto number = [&](std::size_t at) {
      std::uint32_t v = 0;
      for (; at < m.size() && m[at] >= '0' && m[at] <= '9' && v < 100000; ++at)
        v = v * 10 + static_cast<std::uint32_t>(m[at] - '0');
      return v;
    };
    // Each warp does a quarter of a warpgroup's product.
    const std::uint32_t ops = 2 * number(1) * number(n_at + 1) * number(k_at + 1) /
                              (form.opcode == Opcode::op_wgmma ? 4 : 1);
    switch (factors) {
      case Type::bf16:
        return {Counter::ops_tensor_bf16, 0, ops};
      case Type::f16:
        return {Counter::ops_tensor_fp16, 0, ops};
      case Type::tf32:
        return {Counter::ops_tensor_tf32, 0, ops};
      case Type::e4m3:
      case Type::e5m2:
        return {Counter::ops_tensor_fp8, 0, ops};
      case Type::s8:
      case Type::u8:
        return {Counter::ops_tensor_int8, 0, ops};
      case Type::f64:
        return {Counter::flops_fp64, 0, ops};
      default:
        return {};
    }
  }
  return {};
}

Work float_work(Type type, std::uint32_t operations) {
  switch (type) {
    case Type::f64:
      return {Counter::flops_fp64, operations, 0};
    case Type::f32:
      return {Counter::flops_fp32, operations, 0};
    case Type::f16:
    case Type::bf16:
      return {Counter::flops_fp16, operations, 0};
    case Type::f16x2:
    case Type::bf16x2:
      return {Counter::flops_fp16, 2 * operations, 0};
    default:
      return {};
  }
}

// Division: estimate, multiply-adds to refine quotient and remainder. Approximate ones are a
// multiplication.
Work division(const Form& form, Type type) {
  if (!is_float(type)) return {Counter::integer_ops, 1, 0};
  const bool rounded = !form.has("approx") && !form.has("full");
  if (rounded && type == Type::f32) return {Counter::flops_fp32, 10, 0};
  if (rounded && type == Type::f64) return {Counter::flops_fp64, 15, 0, Counter::flops_fp32, 2};
  return float_work(type, 1);
}

// Returns work of the special-function unit, with the Newton steps of a rounded result and the
// scaling of sine to turns.
Work special(const Form& form, Type type) {
  struct Row {
    Opcode opcode;
    Type type;
    bool rounded;
    std::uint32_t flops;
  };
  static constexpr Row rows[] = {
      {Opcode::op_rcp, Type::f32, true, 5},  {Opcode::op_sqrt, Type::f32, true, 6},
      {Opcode::op_rcp, Type::f64, true, 10}, {Opcode::op_sqrt, Type::f64, true, 13},
      {Opcode::op_sin, Type::f32, false, 1}, {Opcode::op_cos, Type::f32, false, 1},
  };
  // Subnormal numbers are scaled before and after.
  if (form.opcode == Opcode::op_rcp && type == Type::f32 && form.has("approx") && !form.has("ftz"))
    return {Counter::special_ops, 1, 0, Counter::flops_fp32, 2};
  Work work{Counter::special_ops, 1, 0};
  for (const Row& row : rows) {
    if (row.opcode != form.opcode || row.type != type || row.rounded == form.has("approx"))
      continue;
    work.also = type == Type::f64 ? Counter::flops_fp64 : Counter::flops_fp32;
    work.also_per_thread = row.flops;
  }
  return work;
}

bool is_integer_only(Opcode opcode) {
  switch (opcode) {
    case Opcode::op_addc:
    case Opcode::op_and:
    case Opcode::op_bfe:
    case Opcode::op_bfi:
    case Opcode::op_bfind:
    case Opcode::op_bmsk:
    case Opcode::op_brev:
    case Opcode::op_clz:
    case Opcode::op_cnot:
    case Opcode::op_dp2a:
    case Opcode::op_dp4a:
    case Opcode::op_fns:
    case Opcode::op_lop3:
    case Opcode::op_mad24:
    case Opcode::op_madc:
    case Opcode::op_mul24:
    case Opcode::op_not:
    case Opcode::op_or:
    case Opcode::op_popc:
    case Opcode::op_prmt:
    case Opcode::op_rem:
    case Opcode::op_sad:
    case Opcode::op_shf:
    case Opcode::op_shl:
    case Opcode::op_shr:
    case Opcode::op_subc:
    case Opcode::op_szext:
    case Opcode::op_xor:
      return true;
    default:
      return false;
  }
}

}  // namespace

Work work_of(const Form& form) {
  if (form.opcode == Opcode::op_mma || form.opcode == Opcode::op_wmma ||
      form.opcode == Opcode::op_wgmma)
    return tensor_work(form);
  if (form.types.empty()) return {};
  const Type type = form.types.back();
  switch (form.opcode) {
    case Opcode::op_add:
    case Opcode::op_sub:
    case Opcode::op_mul:
      return is_float(type) ? float_work(type, 1) : Work{Counter::integer_ops, 1, 0};
    case Opcode::op_div:
      return division(form, type);
    case Opcode::op_fma:
    case Opcode::op_mad:
      return is_float(type) ? float_work(type, 2) : Work{Counter::integer_ops, 1, 0};
    case Opcode::op_ex2:
    case Opcode::op_lg2:
    case Opcode::op_rcp:
    case Opcode::op_rsqrt:
    case Opcode::op_sqrt:
    case Opcode::op_sin:
    case Opcode::op_cos:
    case Opcode::op_tanh:
      return special(form, type);
    case Opcode::op_min:
    case Opcode::op_max:
    case Opcode::op_abs:
    case Opcode::op_neg:
    case Opcode::op_setp:
    case Opcode::op_set:
    case Opcode::op_slct:
      return is_float(type) ? Work{} : Work{Counter::integer_ops, 1, 0};
    default:
      return is_integer_only(form.opcode) ? Work{Counter::integer_ops, 1, 0} : Work{};
  }
}

}  // namespace cupilot::ptx
