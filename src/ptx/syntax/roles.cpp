#include "ptx/syntax/roles.hpp"

namespace cupilot::ptx {

Roles roles_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::op_bra:
    case Opcode::op_cp:
    case Opcode::op_ret:
    case Opcode::op_st:
    case Opcode::op_stmatrix:
      return Roles::read;
    case Opcode::op_abs:
    case Opcode::op_add:
    case Opcode::op_addc:
    case Opcode::op_and:
    case Opcode::op_bfe:
    case Opcode::op_bfi:
    case Opcode::op_clz:
    case Opcode::op_cvt:
    case Opcode::op_cvta:
    case Opcode::op_div:
    case Opcode::op_ex2:
    case Opcode::op_fma:
    case Opcode::op_ld:
    case Opcode::op_ldmatrix:
    case Opcode::op_lg2:
    case Opcode::op_lop3:
    case Opcode::op_mad:
    case Opcode::op_madc:
    case Opcode::op_max:
    case Opcode::op_min:
    case Opcode::op_mma:
    case Opcode::op_mov:
    case Opcode::op_mul:
    case Opcode::op_neg:
    case Opcode::op_not:
    case Opcode::op_or:
    case Opcode::op_popc:
    case Opcode::op_prmt:
    case Opcode::op_rcp:
    case Opcode::op_rem:
    case Opcode::op_rsqrt:
    case Opcode::op_selp:
    case Opcode::op_setp:
    case Opcode::op_shf:
    case Opcode::op_shl:
    case Opcode::op_shr:
    case Opcode::op_slct:
    case Opcode::op_sqrt:
    case Opcode::op_sub:
    case Opcode::op_subc:
    case Opcode::op_tanh:
    case Opcode::op_xor:
      return Roles::result_first;
    default:
      return Roles::unknown;
  }
}

}  // namespace cupilot::ptx
