// lop3 with a predicate: the result of the table, and whether it is zero joined with another
// predicate.
#include <cstdint>

#include "ptx/machine/decode.hpp"

namespace cupilot::ptx {
namespace {

using u32 = std::uint32_t;

u32 by_table(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (u32 i = 0; i < 8; ++i) {
    const u32 term = ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
    r |= ((table >> i) & 1) != 0 ? term : 0;
  }
  return r;
}

// o: result, predicate, a, b, c; aux: table, bit 8 for .and; list: the other predicate and what
// flips it.
void run_lop3(Lanes& l, const Step& s) {
  const u32 *a = l.at<u32>(s.o[2]), *b = l.at<u32>(s.o[3]), *c = l.at<u32>(s.o[4]);
  const u32 other = l.predicate(s.list[0]) ^ s.list[1];
  u32 set = 0;
  for (u32 i = 0; i < 32; ++i) {
    if (((l.mask >> i) & 1) == 0) continue;
    const u32 r = by_table(a[i], b[i], c[i], s.aux & 255);
    set |= static_cast<u32>(r != 0) << i;
    if (s.o[0] != no_slot) l.at<u32>(s.o[0])[i] = r;
  }
  set = (s.aux & 256) != 0 ? set & other : set | other;
  u32& p = l.predicate(s.o[1]);
  p = (p & ~l.mask) | (set & l.mask);
}

}  // namespace

bool decode_lop3(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.opcode != Opcode::op_lop3 || (!form.has("and") && !form.has("or"))) return false;
  d.want_operands(6, 6);
  const std::vector<Operand> results = d.parts(d.operand(0));
  if (results.size() != 2 || d.operand(4).kind != OperandKind::immediate)
    d.refuse("needs a result, a predicate and a table");
  step.o[0] = d.target(results[0], 4);
  step.o[1] = d.target_predicate(results[1]);
  if (step.o[1] == 0) d.refuse("the predicate cannot be left out");
  for (std::size_t i = 1; i < 4; ++i) step.o[i + 1] = d.source(d.operand(i), 4);
  bool inverted = false;
  const u32 other = d.source_predicate(d.operand(5), inverted);
  step.list = d.list({other, inverted ? full_mask : 0});
  step.aux = (static_cast<u32>(d.operand(4).bits) & 255) | (form.has("and") ? 256u : 0u);
  step.run = run_lop3;
  return true;
}

}  // namespace cupilot::ptx
