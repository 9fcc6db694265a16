#include "ptx/exclusions.hpp"

namespace cupilot::ptx {
namespace {

constexpr Exclusion table[] = {
    {"textures and surfaces", "tex.1d.v4.f32.s32 {%f1, %f1, %f1, %f1}, [%rd1, {%r1}];"},
    {"multimem", "multimem.ld_reduce.global.add.f32 %f1, [%rd1];"},
    {"tensormap.replace", "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd1;"},
    {"im2col, gather and scatter tensor copies",
     "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r1, %r1, %r1}], [%r1], "
     "{%rs1};"},
    {"sparse wgmma",
     "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1, %f1, %f1, %f1}, %rd1, %rd1, %r1, 0, 1, 1, 1, 0, 0;"},
    {"scalar video instructions", "vset.s32.s32.lt %r1, %r1, %r1;"},
    {"discard", "discard.global.L2 [%rd1], 128;"},
    {"calls through pointers", "call (%r1), %rd1, ();"},
    {"stack allocation", "alloca.u64 %rd1, %rd1;"},
    {"cluster launch control",
     "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r1];"},
};

}  // namespace

std::span<const Exclusion> exclusions() { return table; }

std::string exclusions_text() {
  std::string out;
  for (const Exclusion& row : table) out += (out.empty() ? "" : "; ") + std::string(row.what);
  return out;
}

}  // namespace cupilot::ptx
