#include "ptx/syntax/kind.hpp"

#include <algorithm>

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
// By state space; the address of a generic access is known only when it runs.
struct Access {
  Space space;
  std::string_view load, store, atomic;
};
constexpr Access accesses[] = {
    {Space::global, "load global", "store global", "atomic global"},
    {Space::shared, "load shared", "store shared", "atomic shared"},
    {Space::local, "load local", "store local", "other"},
    {Space::param, "load constant", "move", "other"},  // an argument of a call is moved
    {Space::constant, "load constant", "other", "other"},
    {Space::generic, "load generic", "store generic", "atomic global"}};

const Access& access(Space space) {
  const auto* const found = std::find_if(std::begin(accesses), std::end(accesses),
                                         [&](const Access& a) { return a.space == space; });
  return found == std::end(accesses) ? std::end(accesses)[-1] : *found;
}

struct Row {
  Opcode opcode;
  std::string_view kind;
};

// Kinds that turn on the type: what the row says for fp32, "fp64" and "half" for those, else
// "integer".
constexpr Row typed[] = {{Opcode::op_fma, "fp32 fma"},     {Opcode::op_mad, "fp32 fma"},
                         {Opcode::op_add, "fp32 add"},     {Opcode::op_sub, "fp32 add"},
                         {Opcode::op_mul, "fp32 mul"},     {Opcode::op_div, "fp32 other"},
                         {Opcode::op_min, "fp32 other"},   {Opcode::op_max, "fp32 other"},
                         {Opcode::op_abs, "fp32 other"},   {Opcode::op_neg, "fp32 other"},
                         {Opcode::op_set, "fp32 other"},   {Opcode::op_copysign, "fp32 other"},
                         {Opcode::op_testp, "fp32 other"}, {Opcode::op_setp, "fp32 other"},
                         {Opcode::op_slct, "fp32 other"}};

// Kinds of their own; opcodes in neither table are "integer".
constexpr Row plain[] = {{Opcode::op_ex2, "special"},
                         {Opcode::op_lg2, "special"},
                         {Opcode::op_rcp, "special"},
                         {Opcode::op_rsqrt, "special"},
                         {Opcode::op_sqrt, "special"},
                         {Opcode::op_sin, "special"},
                         {Opcode::op_cos, "special"},
                         {Opcode::op_tanh, "special"},
                         {Opcode::op_mma, "tensor"},
                         {Opcode::op_movmatrix, "tensor"},
                         {Opcode::op_ldmatrix, "load shared"},
                         {Opcode::op_stmatrix, "store shared"},
                         {Opcode::op_bar, "synchronize"},
                         {Opcode::op_barrier, "synchronize"},
                         {Opcode::op_fence, "synchronize"},
                         {Opcode::op_griddepcontrol, "synchronize"},
                         {Opcode::op_mbarrier, "synchronize"},
                         {Opcode::op_membar, "synchronize"},
                         {Opcode::op_nanosleep, "synchronize"},
                         {Opcode::op_setmaxnreg, "synchronize"},
                         {Opcode::op_activemask, "warp exchange"},
                         {Opcode::op_elect, "warp exchange"},
                         {Opcode::op_match, "warp exchange"},
                         {Opcode::op_redux, "warp exchange"},
                         {Opcode::op_shfl, "warp exchange"},
                         {Opcode::op_vote, "warp exchange"},
                         {Opcode::op_cvt, "convert"},
                         {Opcode::op_cvta, "move"},
                         {Opcode::op_mapa, "move"},
                         {Opcode::op_mov, "move"},
                         {Opcode::op_selp, "move"},
                         {Opcode::op_getctarank, "move"},
                         {Opcode::op_isspacep, "move"},
                         {Opcode::op_bra, "control"},
                         {Opcode::op_brx, "control"},
                         {Opcode::op_call, "control"},
                         {Opcode::op_exit, "control"},
                         {Opcode::op_ret, "control"},
                         {Opcode::op_trap, "control"},
                         {Opcode::op_brkpt, "control"},
                         {Opcode::op_prefetch, "other"},
                         {Opcode::op_prefetchu, "other"},
                         {Opcode::op_applypriority, "other"},
                         {Opcode::op_createpolicy, "other"},
                         {Opcode::op_discard, "other"},
                         {Opcode::op_pmevent, "other"},
                         {Opcode::op_alloca, "other"},
                         {Opcode::op_stacksave, "other"},
                         {Opcode::op_stackrestore, "other"},
                         {Opcode::unknown, "other"}};

template <std::size_t N>
std::string_view row_of(const Row (&rows)[N], Opcode opcode) {
  for (const Row& row : rows) {
    if (row.opcode == opcode) return row.kind;
  }
  return "";
}

}  // namespace

std::string_view kind_of(const Form& form) {
  switch (form.opcode) {
    case Opcode::op_ld:
    case Opcode::op_ldu:
      return access(form.space).load;
    case Opcode::op_st:
      return access(form.space).store;
    case Opcode::op_atom:
    case Opcode::op_red:
    case Opcode::op_multimem:
      return access(form.space).atomic;
    case Opcode::op_cp:  // cp.async and its groups, bulk and tensor copies
      return form.has("commit_group") || form.has("wait_group") || form.has("wait_all")
                 ? "synchronize"
                 : "async copy";
    case Opcode::op_wgmma:
      return form.has("mma_async") ? "tensor" : "synchronize";
    case Opcode::op_wmma:
      if (form.has("load")) return access(form.space).load;
      return form.has("store") ? access(form.space).store : "tensor";
    default:
      break;
  }
  if (const std::string_view fp32 = row_of(typed, form.opcode); !fp32.empty())
    return arithmetic(form, fp32);
  const std::string_view kind = row_of(plain, form.opcode);
  return kind.empty() ? "integer" : kind;
}

}  // namespace cupilot::ptx
