#include "ptx/kind.hpp"

namespace cupilot::ptx {
namespace {

std::string_view arithmetic(const Form& form, std::string_view fp32) {
  switch (form.types.empty() ? Type::none : form.types.back()) {
    case Type::f64:
      return "fp64";
    case Type::f32:
      return fp32;
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
      return "half";
    default:
      return "integer";
  }
}

// By state space; the address of a generic access is known only when it runs.
std::string_view load(Space space) {
  switch (space) {
    case Space::global:
      return "load global";
    case Space::shared:
      return "load shared";
    case Space::local:
      return "load local";
    case Space::param:
    case Space::constant:
      return "load constant";
    default:
      return "load generic";
  }
}

std::string_view store(Space space) {
  switch (space) {
    case Space::global:
      return "store global";
    case Space::shared:
      return "store shared";
    case Space::local:
      return "store local";
    case Space::param:
      return "move";
    default:
      return "store generic";
  }
}

// cp.async and its groups, bulk and tensor copies.
std::string_view copy(const Form& form) {
  const bool waits = form.has("commit_group") || form.has("wait_group") || form.has("wait_all");
  return waits ? "synchronize" : "async copy";
}

}  // namespace

std::string_view kind_of(const Form& form) {
  switch (form.opcode) {
    case Opcode::op_fma:
      return arithmetic(form, "fp32 fma");
    case Opcode::op_mad:
      return arithmetic(form, "fp32 fma");
    case Opcode::op_add:
    case Opcode::op_sub:
      return arithmetic(form, "fp32 add");
    case Opcode::op_mul:
      return arithmetic(form, "fp32 mul");
    case Opcode::op_div:
    case Opcode::op_min:
    case Opcode::op_max:
    case Opcode::op_abs:
    case Opcode::op_neg:
    case Opcode::op_copysign:
    case Opcode::op_testp:
    case Opcode::op_set:
    case Opcode::op_setp:
    case Opcode::op_slct:
      return arithmetic(form, "fp32 other");
    case Opcode::op_ex2:
    case Opcode::op_lg2:
    case Opcode::op_rcp:
    case Opcode::op_rsqrt:
    case Opcode::op_sqrt:
    case Opcode::op_sin:
    case Opcode::op_cos:
    case Opcode::op_tanh:
      return "special";
    case Opcode::op_mma:
    case Opcode::op_movmatrix:
      return "tensor";
    case Opcode::op_wgmma:
      return form.has("mma_async") ? "tensor" : "synchronize";
    case Opcode::op_wmma:
      if (form.has("load")) return load(form.space);
      return form.has("store") ? store(form.space) : "tensor";
    case Opcode::op_ld:
    case Opcode::op_ldu:
      return load(form.space);
    case Opcode::op_ldmatrix:
      return "load shared";
    case Opcode::op_st:
      return store(form.space);
    case Opcode::op_stmatrix:
      return "store shared";
    case Opcode::op_atom:
    case Opcode::op_red:
    case Opcode::op_multimem:
      return form.space == Space::shared ? "atomic shared" : "atomic global";
    case Opcode::op_cp:
      return copy(form);
    case Opcode::op_bar:
    case Opcode::op_barrier:
    case Opcode::op_fence:
    case Opcode::op_griddepcontrol:
    case Opcode::op_mbarrier:
    case Opcode::op_membar:
    case Opcode::op_nanosleep:
    case Opcode::op_setmaxnreg:
      return "synchronize";
    case Opcode::op_activemask:
    case Opcode::op_elect:
    case Opcode::op_match:
    case Opcode::op_redux:
    case Opcode::op_shfl:
    case Opcode::op_vote:
      return "warp exchange";
    case Opcode::op_cvt:
      return "convert";
    case Opcode::op_cvta:
    case Opcode::op_mapa:
    case Opcode::op_mov:
    case Opcode::op_selp:
    case Opcode::op_getctarank:
    case Opcode::op_isspacep:
      return "move";
    case Opcode::op_bra:
    case Opcode::op_brx:
    case Opcode::op_call:
    case Opcode::op_exit:
    case Opcode::op_ret:
    case Opcode::op_trap:
    case Opcode::op_brkpt:
      return "control";
    case Opcode::op_prefetch:
    case Opcode::op_prefetchu:
    case Opcode::op_applypriority:
    case Opcode::op_createpolicy:
    case Opcode::op_discard:
    case Opcode::op_pmevent:
    case Opcode::op_alloca:
    case Opcode::op_stacksave:
    case Opcode::op_stackrestore:
    case Opcode::unknown:
      return "other";
    default:
      return "integer";
  }
}

}  // namespace cupilot::ptx
