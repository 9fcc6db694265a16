// What an instruction counts for: a multiply-add is two operations, a tensor instruction 2 m n k for the warp.
#include <string>

#include "ptx/decode.hpp"

namespace cupilot::ptx {
namespace {

// wmma on fp16 names only the types of the sums.
Work tensor_work(const Form& form) {
  if (form.types.size() < 2) return {};
  const Type factors = form.opcode == Opcode::op_wmma && form.types.size() == 2 ? Type::f16 : form.types[1];
  for (const std::string& m : form.modifiers) {
    const std::size_t n_at = m.find('n'), k_at = m.find('k');
    if (m[0] != 'm' || n_at == std::string::npos || k_at == std::string::npos || k_at < n_at) continue;
    const auto number = [&](std::size_t at) {
      std::uint32_t v = 0;
      for (; at < m.size() && m[at] >= '0' && m[at] <= '9' && v < 100000; ++at)
        v = v * 10 + static_cast<std::uint32_t>(m[at] - '0');
      return v;
    };
    // Of a warpgroup's product each warp does a quarter.
    const std::uint32_t ops = 2 * number(1) * number(n_at + 1) * number(k_at + 1) / (form.opcode == Opcode::op_wgmma ? 4 : 1);
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

}  // namespace

Work work_of(const Form& form) {
  if (form.opcode == Opcode::op_mma || form.opcode == Opcode::op_wmma || form.opcode == Opcode::op_wgmma)
    return tensor_work(form);
  if (form.types.empty()) return {};
  const Type type = form.types.back();
  switch (form.opcode) {
    case Opcode::op_add:
    case Opcode::op_sub:
    case Opcode::op_mul:
    case Opcode::op_div:
      return is_float(type) ? float_work(type, 1) : Work{Counter::integer_ops, 1, 0};
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
      return {Counter::special_ops, 1, 0};
    case Opcode::op_min:
    case Opcode::op_max:
    case Opcode::op_abs:
    case Opcode::op_neg:
    case Opcode::op_setp:
    case Opcode::op_set:
    case Opcode::op_slct:
      return is_float(type) ? Work{} : Work{Counter::integer_ops, 1, 0};
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
      return {Counter::integer_ops, 1, 0};
    default:
      return {};
  }
}

}  // namespace cupilot::ptx
