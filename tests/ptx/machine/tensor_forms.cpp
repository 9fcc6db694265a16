#include "ptx/machine/tensor_forms.hpp"

#include <fmt/format.h>

namespace support {
namespace {

using u64 = std::uint64_t;
using E = Element;

std::string list_of(const char* name, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return "{" + out + "}";
}

std::vector<TensorForm> build() {
  std::vector<TensorForm> out;
  const auto mma = [&](std::string shape, std::string types, int d, int a, int b, E ea, E eb, E ec,
                       std::string options = "", int width = 4) {
    out.push_back({"mma.sync.aligned." + shape + ".row.col" + options + "." + types,
                   TensorForm::warp, d, a, b, d, ea, eb, ec, width, ""});
  };
  mma("m16n8k16", "f32.bf16.bf16.f32", 4, 4, 2, E::bf16, E::bf16, E::f32);
  mma("m16n8k8", "f32.bf16.bf16.f32", 4, 2, 1, E::bf16, E::bf16, E::f32);
  mma("m16n8k16", "f32.f16.f16.f32", 4, 4, 2, E::f16, E::f16, E::f32);
  mma("m16n8k8", "f32.f16.f16.f32", 4, 2, 1, E::f16, E::f16, E::f32);
  mma("m16n8k16", "f16.f16.f16.f16", 2, 4, 2, E::f16, E::f16, E::f16);
  mma("m16n8k8", "f16.f16.f16.f16", 2, 2, 1, E::f16, E::f16, E::f16);
  mma("m16n8k8", "f32.tf32.tf32.f32", 4, 4, 2, E::tf32, E::tf32, E::f32);
  mma("m16n8k4", "f32.tf32.tf32.f32", 4, 2, 1, E::tf32, E::tf32, E::f32);
  for (const auto& [x, ex] : {std::pair{"e4m3", E::e4m3}, std::pair{"e5m2", E::e5m2}}) {
    for (const auto& [y, ey] : {std::pair{"e4m3", E::e4m3}, std::pair{"e5m2", E::e5m2}}) {
      mma("m16n8k32", fmt::format("f32.{}.{}.f32", x, y), 4, 4, 2, ex, ey, E::f32);
      mma("m16n8k32", fmt::format("f16.{}.{}.f16", x, y), 2, 4, 2, ex, ey, E::f16);
    }
  }
  mma("m16n8k16", "f32.e4m3.e5m2.f32", 4, 2, 1, E::e4m3, E::e5m2, E::f32);
  mma("m16n8k16", "f16.e4m3.e5m2.f16", 2, 2, 1, E::e4m3, E::e5m2, E::f16);
  mma("m8n8k4", "f64.f64.f64.f64", 2, 1, 1, E::f64, E::f64, E::f64, "", 8);
  mma("m16n8k4", "f64.f64.f64.f64", 4, 2, 1, E::f64, E::f64, E::f64, "", 8);
  mma("m16n8k8", "f64.f64.f64.f64", 4, 4, 2, E::f64, E::f64, E::f64, "", 8);
  mma("m16n8k16", "f64.f64.f64.f64", 4, 8, 4, E::f64, E::f64, E::f64, "", 8);
  for (const char* la : {"row", "col"}) {
    for (const char* lb : {"row", "col"}) {
      for (const auto& [types, c] :
           {std::pair{"f32.f16.f16.f32", 8}, std::pair{"f16.f16.f16.f16", 4}}) {
        out.push_back({fmt::format("mma.sync.aligned.m8n8k4.{}.{}.{}", la, lb, types),
                       TensorForm::warp, c, 2, 2, c, E::f16, E::f16, c == 8 ? E::f32 : E::f16, 4,
                       ""});
      }
    }
  }
  out.push_back({"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16", TensorForm::warp, 8, 2, 2, 4,
                 E::f16, E::f16, E::f16, 4, ""});
  for (const char* sat : {"", ".satfinite"}) {
    mma("m8n8k16", "s32.s8.u8.s32", 2, 1, 1, E::raw, E::raw, E::raw, sat);
    mma("m16n8k16", "s32.s8.s8.s32", 4, 2, 1, E::raw, E::raw, E::raw, sat);
    mma("m16n8k32", "s32.s8.u8.s32", 4, 4, 2, E::raw, E::raw, E::raw, sat);
    mma("m16n8k32", "s32.u8.s8.s32", 4, 4, 2, E::raw, E::raw, E::raw, sat);
    mma("m8n8k32", "s32.u4.s4.s32", 2, 1, 1, E::raw, E::raw, E::raw, sat);
    mma("m16n8k32", "s32.s4.s4.s32", 4, 2, 1, E::raw, E::raw, E::raw, sat);
    mma("m16n8k64", "s32.s4.u4.s32", 4, 4, 2, E::raw, E::raw, E::raw, sat);
    mma("m16n8k64", "s32.u4.u4.s32", 4, 4, 2, E::raw, E::raw, E::raw, sat);
  }
  for (const char* op : {".xor.popc", ".and.popc"}) {
    for (const auto& [shape, d, a, b] :
         {std::tuple{"m8n8k128", 2, 1, 1}, std::tuple{"m16n8k128", 4, 2, 1},
          std::tuple{"m16n8k256", 4, 4, 2}}) {
      out.push_back({fmt::format("mma.sync.aligned.{}.row.col.s32.b1.b1.s32{}", shape, op),
                     TensorForm::warp, d, a, b, d, E::raw, E::raw, E::raw, 4, ""});
    }
  }
  const auto sparse = [&](std::string shape, std::string types, int d, int a, int b, E ea, E eb,
                          E ec, std::string options, int selectors) {
    for (int s = 0; s < selectors; ++s) {
      out.push_back(
          {"mma.sp::ordered_metadata.sync.aligned." + shape + ".row.col" + options + "." + types,
           TensorForm::sparse, d, a, b, d, ea, eb, ec, 4, std::to_string(s)});
    }
  };
  sparse("m16n8k16", "f32.f16.f16.f32", 4, 2, 2, E::f16, E::f16, E::f32, "", 4);
  sparse("m16n8k32", "f32.bf16.bf16.f32", 4, 4, 4, E::bf16, E::bf16, E::f32, "", 2);
  sparse("m16n8k32", "f16.f16.f16.f16", 2, 4, 4, E::f16, E::f16, E::f16, "", 2);
  sparse("m16n8k8", "f32.tf32.tf32.f32", 4, 2, 2, E::tf32, E::tf32, E::f32, "", 4);
  sparse("m16n8k16", "f32.tf32.tf32.f32", 4, 4, 4, E::tf32, E::tf32, E::f32, "", 2);
  sparse("m16n8k32", "s32.s8.u8.s32", 4, 2, 2, E::raw, E::raw, E::raw, "", 2);
  sparse("m16n8k64", "s32.u8.s8.s32", 4, 4, 4, E::raw, E::raw, E::raw, ".satfinite", 1);
  sparse("m16n8k64", "s32.s4.u4.s32", 4, 2, 2, E::raw, E::raw, E::raw, "", 2);
  sparse("m16n8k128", "s32.u4.s4.s32", 4, 4, 4, E::raw, E::raw, E::raw, ".satfinite", 1);
  sparse("m16n8k64", "f32.e4m3.e5m2.f32", 4, 4, 4, E::e4m3, E::e5m2, E::f32, "", 1);
  sparse("m16n8k64", "f32.e5m2.e4m3.f32", 4, 4, 4, E::e5m2, E::e4m3, E::f32, "", 1);
  const auto group = [&](std::string shape, std::string types, int d, E ea, E eb, E ec,
                         std::string tail, bool both = true) {
    const bool scales = tail.rfind("1, ", 0) == 0 || tail.rfind("-1", 0) == 0;
    const bool halves = scales && (ea == E::f16 || ea == E::bf16);
    out.push_back({"wgmma.mma_async.sync.aligned." + shape + "." + types,
                   TensorForm::group_registers, d, 4, 64, d, ea, eb, ec, 4,
                   halves ? tail + ", 0" : tail});
    if (both) {
      out.push_back({"wgmma.mma_async.sync.aligned." + shape + "." + types,
                     TensorForm::group_shared, d, 4, 64, d, ea, eb, ec, 4,
                     halves ? tail + ", 0, 0" : tail});
    }
  };
  group("m64n8k16", "f32.bf16.bf16", 4, E::bf16, E::bf16, E::f32, "1, 1");
  group("m64n8k16", "f32.f16.f16", 4, E::f16, E::f16, E::f32, "1, 1");
  group("m64n8k16", "f32.f16.f16", 4, E::f16, E::f16, E::f32, "-1, 1", false);
  group("m64n8k16", "f16.f16.f16", 2, E::f16, E::f16, E::f16, "1, 1");
  group("m64n8k8", "f32.tf32.tf32", 4, E::tf32, E::tf32, E::f32, "1, 1");
  for (const auto& [x, ex] : {std::pair{"e4m3", E::e4m3}, std::pair{"e5m2", E::e5m2}}) {
    for (const auto& [y, ey] : {std::pair{"e4m3", E::e4m3}, std::pair{"e5m2", E::e5m2}}) {
      group("m64n8k32", fmt::format("f32.{}.{}", x, y), 4, ex, ey, E::f32, "1, 1", ex == ey);
      group("m64n8k32", fmt::format("f16.{}.{}", x, y), 2, ex, ey, E::f16, "1, 1", ex == ey);
    }
  }
  group("m64n8k32", "s32.s8.u8", 4, E::raw, E::raw, E::raw, "");
  group("m64n8k32", "s32.u8.s8.satfinite", 4, E::raw, E::raw, E::raw, "", false);
  group("m64n8k256", "s32.b1.b1.and.popc", 4, E::raw, E::raw, E::raw, "", false);
  // Matrices in global memory, loaded and stored by wmma; registers a, b, c of each.
  const auto wmma = [&](int m, int n, int k, const char* type, const char* in, const char* sum,
                        const char* options, int ra, int rb, int rc, E ei, E ec, int bits,
                        int sum_bits, const char* la = "row", const char* lb = "col") {
    const std::string shape = fmt::format("m{}n{}k{}", m, n, k);
    const bool row_a = la[0] == 'r', row_b = lb[0] == 'r';
    std::string body = fmt::format("  wmma.load.a.sync.aligned.{}.{}.global.{} {}, [%pa], {};\n",
                                   la, shape, in, list_of("a", ra), row_a ? k : m);
    body += fmt::format("  wmma.load.b.sync.aligned.{}.{}.global.{} {}, [%pb], {};\n", lb, shape,
                        in, list_of("b", rb), row_b ? n : k);
    body += fmt::format("  wmma.load.c.sync.aligned.row.{}.global.{} {}, [%pc], {};\n", shape, sum,
                        list_of("c", rc), n);
    const std::string text =
        fmt::format("wmma.mma{}.sync.aligned.{}.{}.{}.{}",
                    options[0] == '.' && options[1] != 's' ? options : "", la, lb, shape, type) +
        (options[0] == '.' && options[1] == 's' ? options : "");
    body += fmt::format("  {} {}, {}, {}, {};\n", text, list_of("d", rc), list_of("a", ra),
                        list_of("b", rb), list_of("c", rc));
    body += fmt::format("  wmma.store.d.sync.aligned.col.{}.global.{} [%pd], {}, {};\n", shape, sum,
                        list_of("d", rc), m);
    const int width = sum_bits == 64 ? 8 : 4, word = 32 * 8 * width;
    out.push_back({text, TensorForm::matrices, m * n * sum_bits / word, m * k * bits / word,
                   n * k * bits / word, m * n * sum_bits / word, ei, ei, ec, width, body});
  };
  wmma(16, 16, 16, "f32.f32", "f16", "f32", "", 8, 8, 8, E::f16, E::f32, 16, 32);
  wmma(16, 16, 16, "f16.f16", "f16", "f16", "", 8, 8, 4, E::f16, E::f16, 16, 16, "col", "row");
  wmma(32, 8, 16, "f32.f32", "f16", "f32", "", 8, 8, 8, E::f16, E::f32, 16, 32, "row", "row");
  wmma(8, 32, 16, "f32.f32", "f16", "f32", "", 8, 8, 8, E::f16, E::f32, 16, 32, "col", "col");
  wmma(16, 16, 16, "f32.bf16.bf16.f32", "bf16", "f32", "", 4, 4, 8, E::bf16, E::f32, 16, 32);
  wmma(32, 8, 16, "f32.bf16.bf16.f32", "bf16", "f32", "", 8, 2, 8, E::bf16, E::f32, 16, 32, "col",
       "row");
  wmma(16, 16, 8, "f32.tf32.tf32.f32", "tf32", "f32", "", 4, 4, 8, E::tf32, E::f32, 32, 32);
  wmma(8, 8, 4, "f64.f64.f64.f64", "f64", "f64", "", 1, 1, 2, E::f64, E::f64, 64, 64);
  wmma(16, 16, 16, "s32.s8.s8.s32", "s8", "s32", ".satfinite", 2, 2, 8, E::raw, E::raw, 8, 32);
  wmma(32, 8, 16, "s32.u8.u8.s32", "u8", "s32", "", 4, 1, 8, E::raw, E::raw, 8, 32, "col", "row");
  wmma(8, 8, 32, "s32.s4.s4.s32", "s4", "s32", "", 1, 1, 2, E::raw, E::raw, 4, 32);
  wmma(8, 8, 128, "s32.b1.b1.s32", "b1", "s32", ".xor.popc", 1, 1, 2, E::raw, E::raw, 1, 32);
  const auto scalar = [&](std::string text, int sources, int width_in = 4) {
    TensorForm form{text,
                    TensorForm::scalar,
                    1,
                    sources > 0 ? 1 : 0,
                    sources > 1 ? 1 : 0,
                    sources > 2 ? 1 : 0,
                    E::raw,
                    E::raw,
                    E::raw,
                    4,
                    ""};
    if (width_in == 2) form.tail = "half";
    if (width_in == 1) form.in_a = form.in_b = E::f32;
    out.push_back(form);
  };
  for (const char* relu : {"", ".relu"}) {
    for (const char* type : {"e4m3x2", "e5m2x2"}) {
      scalar(fmt::format("cvt.rn.satfinite{}.{}.f16x2", relu, type), 1, 3);
      scalar(fmt::format("cvt.rn{}.f16x2.{}", relu, type), 1, 2);
      scalar(fmt::format("cvt.rn.satfinite{}.{}.f32", relu, type), 2, 1);
    }
    for (const char* r : {"rn", "rz"}) {
      scalar(fmt::format("cvt.{}{}.bf16x2.f32", r, relu), 2, 1);
      scalar(fmt::format("cvt.{}{}.f16x2.f32", r, relu), 2, 1);
      scalar(fmt::format("cvt.{}{}.tf32.f32", r, relu), 1, 1);
    }
  }
  scalar("cvt.rna.tf32.f32", 1, 1);
  for (const char* text : {"fns.b32",
                           "bmsk.clamp.b32#2",
                           "bmsk.wrap.b32#2",
                           "szext.clamp.s32#2",
                           "szext.clamp.u32#2",
                           "szext.wrap.s32#2",
                           "szext.wrap.u32#2",
                           "prmt.b32.f4e",
                           "prmt.b32.b4e",
                           "prmt.b32.rc8",
                           "prmt.b32.ecl",
                           "prmt.b32.ecr",
                           "prmt.b32.rc16",
                           "vabsdiff4.u32.u32.u32",
                           "vabsdiff4.u32.u32.u32.add",
                           "vabsdiff4.s32.s32.s32",
                           "vabsdiff2.u32.u32.u32",
                           "vabsdiff2.s32.s32.s32.add",
                           "vadd4.s32.s32.s32.sat",
                           "vadd2.u32.u32.u32",
                           "vsub4.u32.u32.u32.add",
                           "vsub2.s32.s32.s32.sat",
                           "vavrg4.u32.u32.u32",
                           "vavrg2.s32.s32.s32",
                           "vmin4.s32.s32.s32",
                           "vmax2.u32.u32.u32",
                           "vset4.u32.u32.lt",
                           "vset2.s32.s32.ge.add"}) {
    const std::string t = text;
    const auto hash = t.find('#');
    scalar(t.substr(0, hash), hash == std::string::npos ? 3 : 2, 3);
  }
  return out;
}

std::string loads(const char* name, int count, int threads, int width, const char* pointer) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += fmt::format("  ld.global.b{} %{}{}, [%p{}+{}];\n", 8 * width, name, i, pointer,
                       i * threads * width);
  return out;
}

constexpr const char* header = ".version 9.0\n.target sm_90a\n.address_size 64\n";

// Base addresses %pa %pb %pc %pe %pd of this block and thread.
std::string addresses(const TensorForm& f) {
  std::string out;
  const std::pair<const char*, int> rows[] = {
      {"a", f.a}, {"b", f.b}, {"c", f.c}, {"e", 1}, {"d", f.d}};
  for (const auto& [name, count] : rows) {
    const bool words = *name == 'b' && f.threads() == 128;
    const int block_bytes = words ? 256 : count * f.threads() * f.width;
    out += fmt::format("  ld.param.u64 %p{0}, [p{0}];\n  mad.wide.u32 %p{0}, %block, {1}, %p{0};\n",
                       name, block_bytes);
    if (f.kind != TensorForm::matrices)
      out += fmt::format("  mad.wide.u32 %p{0}, %thread, {1}, %p{0};\n", name, f.width);
  }
  return out;
}

std::string group_body(const TensorForm& f) {
  std::string out = loads("a", f.a, 128, 4, "a");
  out += "  mov.u32 %s, tile;\n  mad.lo.u32 %t, %thread, 4, %s;\n";
  out +=
      "  setp.lt.u32 %q, %thread, 64;\n  @%q ld.global.b32 %w, [%pb];\n  @%q st.shared.b32 [%t], "
      "%w;\n";
  // B: two core matrices of 8 rows along k, 128 bytes apart. A: 8 row groups 128 bytes apart,
  // halves of k 1024 bytes.
  out += "  shr.u32 %t, %s, 4;\n  cvt.u64.u32 %db, %t;\n  or.b64 %db, %db, 0x0000001000080000;\n";
  if (f.kind == TensorForm::group_shared) {
    out += "  add.u32 %s, %s, 1024;\n  mad.lo.u32 %t, %thread, 4, %s;\n";
    for (int i = 0; i < 4; ++i) out += fmt::format("  st.shared.b32 [%t+{}], %a{};\n", i * 512, i);
    out += "  shr.u32 %t, %s, 4;\n  cvt.u64.u32 %da, %t;\n  or.b64 %da, %da, 0x0000000800400000;\n";
  }
  out +=
      "  fence.proxy.async;\n  bar.sync 0;\n  setp.eq.u32 %q, 0, 0;\n  wgmma.fence.sync.aligned;\n";
  out += fmt::format("  {} {}, {}, %db, %q{}{};\n", f.text, list_of("d", f.d),
                     f.kind == TensorForm::group_shared ? std::string("%da") : list_of("a", 4),
                     f.tail.empty() ? "" : ", ", f.tail);
  return out + "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
}

std::string scalar_body(const TensorForm& f) {
  std::string out, spelling = f.text;
  const bool to_half = spelling.find("e4m3x2.f") != std::string::npos ||
                       spelling.find("e5m2x2.f") != std::string::npos;
  const bool half = f.tail == "half";
  out += "  ld.global.b32 %a0, [%pa];\n";
  if (f.b != 0) out += "  ld.global.b32 %b0, [%pb];\n";
  if (f.c != 0) out += "  ld.global.b32 %c0, [%pc];\n";
  if (half) out += "  cvt.u16.u32 %h0, %a0;\n";
  std::string result = to_half ? "%h1" : "%d0";
  out += fmt::format("  {} {}, {}{}{};\n", spelling, result, half ? "%h0" : "%a0",
                     f.b != 0 ? ", %b0" : "", f.c != 0 ? ", %c0" : "");
  if (to_half) out += "  cvt.u32.u16 %d0, %h1;\n";
  return out;
}

}  // namespace

const std::vector<TensorForm>& tensor_forms() {
  static const std::vector<TensorForm> forms = build();
  return forms;
}

std::string ptx_of(const TensorForm& f) {
  const bool group = f.kind == TensorForm::group_registers || f.kind == TensorForm::group_shared;
  std::string out = header;
  out +=
      ".visible .entry run(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pe, .param "
      ".u64 pd) {\n";
  for (const char* name : {"a", "b", "c", "d"})
    out += fmt::format("  .reg .b{} %{}<10>;\n", 8 * f.width, name);
  out +=
      "  .reg .b32 %e0, %block, %thread, %s, %t, %w;\n  .reg .b64 %pa, %pb, %pc, %pd, %pe, %da, "
      "%db;\n  .reg .b16 %h<2>;\n  .reg "
      ".pred %q;\n";
  if (group) out += "  .shared .align 1024 .b8 tile[4096];\n";
  out += "  mov.u32 %block, %ctaid.x;\n  mov.u32 %thread, %tid.x;\n" + addresses(f);
  if (f.kind == TensorForm::matrices) return out + f.tail + "  ret;\n}\n";
  if (f.kind == TensorForm::scalar) {
    out += scalar_body(f);
  } else if (group) {
    out += loads("d", f.d, 128, 4, "c") + group_body(f);
  } else {
    out += loads("a", f.a, 32, f.width, "a") + loads("b", f.b, 32, f.width, "b") +
           loads("c", f.c, 32, f.width, "c");
    std::string extra;
    if (f.kind == TensorForm::sparse) {
      out += "  ld.global.b32 %e0, [%pe];\n";
      extra = ", %e0, " + f.tail;
    }
    out += fmt::format("  {} {}, {}, {}, {}{};\n", f.text, list_of("d", f.d), list_of("a", f.a),
                       list_of("b", f.b), list_of("c", f.c), extra);
  }
  for (int i = 0; i < f.d; ++i)
    out +=
        fmt::format("  st.global.b{} [%pd+{}], %d{};\n", 8 * f.width, i * f.threads() * f.width, i);
  return out + "  ret;\n}\n";
}

std::string descriptor_ptx(bool matrix_a, bool transposed) {
  const int results = matrix_a ? 8 : 32;
  std::string out = header;
  out +=
      ".visible .entry run(.param .u64 pa, .param .u64 pd) {\n  .reg .b32 %block, %thread, %s, %t, "
      "%i, %v, %r, %a<4>;\n";
  out +=
      "  .reg .f32 %d<32>, %f;\n  .reg .b64 %pa, %pd, %desc, %one;\n  .reg .b16 %h, %h2;\n  .reg "
      ".pred %q, %pass;\n";
  out += "  .shared .align 1024 .b8 tile[48128];\n  .shared .align 1024 .b8 unit[1024];\n";
  out += "  mov.u32 %block, %ctaid.x;\n  mov.u32 %thread, %tid.x;\n";
  out +=
      "  ld.param.u64 %pa, [pa];\n  mad.wide.u32 %pa, %block, 8, %pa;\n  ld.global.u64 %desc, "
      "[%pa];\n";
  out +=
      "  mov.u32 %s, tile;\n  shr.u32 %t, %s, 4;\n  cvt.u64.u32 %one, %t;\n  add.u64 %desc, %desc, "
      "%one;\n";
  out += fmt::format(
      "  ld.param.u64 %pd, [pd];\n  mad.wide.u32 %pd, %block, {}, %pd;\n  mad.wide.u32 %pd, "
      "%thread, 2, %pd;\n",
      2 * descriptor_results);
  // The one-hot factor: A in registers (row = k), or B in shared memory without swizzle (column =
  // k).
  const auto one_hot = [&] {
    for (int r = 0; r < 4; ++r) {
      // row = thread/4%8 + 8 (r&1) + 16 warp; k = 2 (thread%4) + 8 (r>>1) + {0, 1}
      out += fmt::format(
          "  shr.u32 %i, %thread, 2;\n  and.b32 %v, %i, 7;\n  add.u32 %v, %v, {};\n  shr.u32 %i, "
          "%thread, 5;\n  mad.lo.u32 %v, "
          "%i, 16, %v;\n",
          8 * (r & 1));
      out += fmt::format(
          "  and.b32 %i, %thread, 3;\n  mad.lo.u32 %i, %i, 2, {};\n  sub.u32 %v, %v, %i;\n",
          8 * (r >> 1));
      out += fmt::format(
          "  setp.eq.u32 %q, %v, 0;\n  selp.b32 %a{0}, 0x3f80, 0, %q;\n  setp.eq.u32 %q, %v, 1;\n  "
          "@%q mov.b32 %a{0}, "
          "0x3f800000;\n",
          r);
    }
  };
  one_hot();
  // Row n of the unit: cores (n / 8, k / 8) of 128 bytes, k halves 256 bytes apart.
  out +=
      "  mov.u32 %i, %thread;\n  mov.u32 %r, unit;\n  mad.lo.u32 %r, %thread, 4, %r;\n  shr.u32 "
      "%i, %thread, 2;\n  and.b32 %v, "
      "%i, 15;\n";
  out +=
      "  and.b32 %t, %thread, 3;\n  shl.b32 %t, %t, 1;\n  shr.u32 %i, %thread, 6;\n  mad.lo.u32 "
      "%t, %i, 8, %t;\n  sub.u32 %v, "
      "%v, %t;\n";
  out +=
      "  mov.b32 %i, 0;\n  setp.eq.u32 %q, %v, 0;\n  @%q mov.b32 %i, 0x3f80;\n  setp.eq.u32 %q, "
      "%v, 1;\n  @%q mov.b32 %i, "
      "0x3f800000;\n  st.shared.b32 [%r], %i;\n";
  out +=
      "  mov.u32 %t, unit;\n  shr.u32 %t, %t, 4;\n  cvt.u64.u32 %one, %t;\n  or.b64 %one, %one, "
      "0x0000000800100000;\n";
  out +=
      "  mov.u32 %r, 0;\nPASS:\n  mov.u32 %i, %thread;\nFILL:\n  setp.eq.u32 %q, %r, 0;\n  and.b32 "
      "%v, %i, 255;\n  @!%q shr.u32 "
      "%v, %i, 8;\n";
  out +=
      "  cvt.rn.f32.u32 %f, %v;\n  cvt.rn.bf16.f32 %h, %f;\n  mov.u32 %t, tile;\n  mad.lo.u32 %t, "
      "%i, 2, %t;\n  st.shared.b16 "
      "[%t], %h;\n";
  out += "  add.u32 %i, %i, 128;\n  setp.lt.u32 %q, %i, 24064;\n  @%q bra FILL;\n";
  out +=
      "  fence.proxy.async;\n  bar.sync 0;\n  setp.ne.u32 %pass, 0, 0;\n  "
      "wgmma.fence.sync.aligned;\n";
  if (matrix_a) {
    out += fmt::format(
        "  wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {}, %desc, %one, %pass, 1, 1, {}, "
        "0;\n",
        list_of("d", 8), transposed ? 1 : 0);
  } else {
    out += fmt::format(
        "  wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {}, {}, %desc, %pass, 1, 1, {};\n",
        list_of("d", 32), list_of("a", 4), transposed ? 1 : 0);
  }
  out += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n  bar.sync 0;\n";
  // B: only warp 0 holds rows 0 .. 15. Low bytes in the first pass, high bytes added in the second.
  if (!matrix_a) out += "  setp.ge.u32 %q, %thread, 32;\n  @%q bra NEXT;\n";
  out += "  setp.eq.u32 %q, %r, 0;\n";
  for (int i = 0; i < results; ++i) {
    const int at = i * 2 * (matrix_a ? 128 : 32);
    out += fmt::format(
        "  cvt.rzi.u32.f32 %v, %d{0};\n  mov.u32 %t, 0;\n  @!%q ld.global.u16 %h, [%pd+{1}];\n  "
        "@!%q cvt.u32.u16 %t, %h;\n  @!%q "
        "shl.b32 %v, %v, 8;\n  or.b32 %v, %v, %t;\n  cvt.u16.u32 %h, %v;\n  st.global.u16 "
        "[%pd+{1}], %h;\n",
        i, at);
  }
  return out +
         "NEXT:\n  add.u32 %r, %r, 1;\n  setp.lt.u32 %q, %r, 2;\n  @%q bra PASS;\n  ret;\n}\n";
}

std::vector<std::uint64_t> descriptors(bool transposed) {
  std::vector<std::uint64_t> out;
  const auto add = [&](u64 layout, u64 start, u64 leading, u64 stride, u64 base) {
    out.push_back((start >> 4) | ((leading >> 4) << 16) | ((stride >> 4) << 32) | (base << 49) |
                  (layout << 62));
  };
  for (const u64 layout : {0, 1, 2, 3}) {
    const u64 atom = layout == 0 ? 16 : layout == 1 ? 128 : layout == 2 ? 64 : 32;
    for (const u64 start : {0, 32, 64, 96, 16, 1024})
      add(layout, start, transposed ? 8 * atom * 2 : 16, 8 * atom, 0);
    for (const u64 leading : {0, 128, 256, 1024, 2048}) {
      for (const u64 stride : {0, 128, 256, 512, 1024, 2048}) add(layout, 0, leading, stride, 0);
    }
    for (const u64 base : {1, 2, 3, 4, 5, 6, 7}) {
      add(layout, 128 * base, 1024, 1024, base);
      add(layout, 128 * base, 1024, 1024, 0);
      add(layout, 128 * base + 32, 2048, 1024, base);
    }
  }
  return out;
}

}  // namespace support
