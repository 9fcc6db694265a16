// Every opcode of PTX ISA 9.0 that sm_80 to sm_90a code may hold, and how it ends a line of text:
// `op.modifier.modifier`.
#pragma once

#include <cstdint>
#include <string_view>

namespace cupilot::ptx {

// clang-format off
#define CUPILOT_PTX_OPCODES(X) \
  X(abs) X(activemask) X(add) X(addc) X(alloca) X(and) X(applypriority) X(atom) X(bar) X(barrier) X(bfe) X(bfi) X(bfind) \
  X(bmsk) X(bra) X(brev) X(brkpt) X(brx) X(call) X(clusterlaunchcontrol) X(clz) X(cnot) X(copysign) X(cos) X(cp) \
  X(createpolicy) X(cvt) X(cvta) X(discard) X(div) X(dp2a) X(dp4a) X(elect) X(ex2) X(exit) X(fabric) X(fence) X(fma) \
  X(fns) X(getctarank) X(griddepcontrol) X(isspacep) X(istypep) X(ld) X(ldmatrix) X(ldu) X(lg2) X(lop3) X(mad) X(mad24) \
  X(madc) X(mapa) X(match) X(max) X(mbarrier) X(membar) X(min) X(mma) X(mov) X(movmatrix) X(mul) X(mul24) X(multimem) \
  X(nanosleep) X(neg) X(not) X(or) X(pmevent) X(popc) X(prefetch) X(prefetchu) X(prmt) X(rcp) X(red) X(redux) X(rem) X(ret) \
  X(rsqrt) X(sad) X(selp) X(set) X(setmaxnreg) X(setp) X(shf) X(shfl) X(shl) X(shr) X(sin) X(slct) X(sqrt) X(st) \
  X(stackrestore) X(stacksave) X(stmatrix) X(sub) X(subc) X(suld) X(suq) X(sured) X(sust) X(szext) X(tanh) X(tensormap) \
  X(testp) X(tex) X(tld4) X(trap) X(txq) X(vadd) X(vadd2) X(vadd4) X(vabsdiff) X(vabsdiff2) X(vabsdiff4) X(vavrg2) \
  X(vavrg4) X(vmad) X(vmax) X(vmax2) X(vmax4) X(vmin) X(vmin2) X(vmin4) X(vote) X(vset) X(vset2) X(vset4) X(vshl) X(vshr) \
  X(vsub) X(vsub2) X(vsub4) X(wgmma) X(wmma) X(xor)
// clang-format on

// `unknown` is any other spelling: it parses, its text is kept, and only running it is refused.
enum class Opcode : std::uint8_t {
  unknown,
#define X(name) op_##name,
  CUPILOT_PTX_OPCODES(X)
#undef X
};

// "fma" for Opcode::op_fma; "unknown" for Opcode::unknown.
std::string_view name_of(Opcode opcode);
Opcode opcode_named(std::string_view name);

}  // namespace cupilot::ptx
