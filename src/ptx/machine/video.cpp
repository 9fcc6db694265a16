// Packed video instructions: an operation on the two halves or four bytes of a register, merged
// into or added to a third.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "ptx/machine/decode.hpp"

namespace cupilot::ptx {
namespace {

using s64 = std::int64_t;
using u32 = std::uint32_t;

enum VideoOp : u32 {
  video_add,
  video_sub,
  video_difference,
  video_average,
  video_min,
  video_max,
  video_set
};
enum VideoCompare : u32 { compare_eq, compare_ne, compare_lt, compare_le, compare_gt, compare_ge };
enum VideoFlag : u32 { signed_d = 1, signed_a = 2, signed_b = 4, saturates = 8, accumulates = 16 };

// aux: operation, comparison << 4, flags << 8; width: bits of a part.
struct Video {
  u32 op, compare, flags, bits;
};

s64 part_of(u32 word, u32 at, u32 bits, bool is_signed) {
  const u32 raw = (word >> at) & ((1u << bits) - 1);
  return is_signed && (raw >> (bits - 1)) != 0 ? s64{raw} - (s64{1} << bits) : s64{raw};
}

bool holds(u32 compare, s64 a, s64 b) {
  switch (compare) {
    case compare_eq:
      return a == b;
    case compare_ne:
      return a != b;
    case compare_lt:
      return a < b;
    case compare_le:
      return a <= b;
    case compare_gt:
      return a > b;
    default:
      return a >= b;
  }
}

s64 operate(const Video& v, s64 a, s64 b) {
  switch (v.op) {
    case video_add:
      return a + b;
    case video_sub:
      return a - b;
    case video_difference:
      return std::max(a, b) - std::min(a, b);
    case video_average:
      return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case video_min:
      return std::min(a, b);
    case video_max:
      return std::max(a, b);
    default:
      return holds(v.compare, a, b) ? 1 : 0;
  }
}

u32 video_of(const Video& v, u32 a, u32 b, u32 c) {
  u32 merged = 0;
  s64 sum = c;
  for (u32 at = 0; at < 32; at += v.bits) {
    s64 r = operate(v, part_of(a, at, v.bits, (v.flags & signed_a) != 0),
                    part_of(b, at, v.bits, (v.flags & signed_b) != 0));
    if ((v.flags & saturates) != 0) {
      const bool is_signed = (v.flags & signed_d) != 0;
      const s64 low = is_signed ? -(s64{1} << (v.bits - 1)) : 0,
                high = (s64{1} << (v.bits - (is_signed ? 1 : 0))) - 1;
      r = std::clamp(r, low, high);
    }
    sum += r;
    merged |= (static_cast<u32>(r) & ((1u << v.bits) - 1)) << at;
  }
  return (v.flags & accumulates) != 0 ? static_cast<u32>(sum) : merged;
}

void run_video(Lanes& l, const Step& s) {
  const Video v{s.aux & 15, (s.aux >> 4) & 15, s.aux >> 8, s.width};
  u32* d = l.at<u32>(s.o[0]);
  const u32 *a = l.at<u32>(s.o[1]), *b = l.at<u32>(s.o[2]), *c = l.at<u32>(s.o[3]);
  for (u32 i = 0; i < 32; ++i) {
    if (((l.mask >> i) & 1) != 0) d[i] = video_of(v, a[i], b[i], c[i]);
  }
}

struct VideoRow {
  Opcode opcode;
  u32 op, bits;
};
constexpr VideoRow rows[] = {
    {Opcode::op_vadd2, video_add, 16},
    {Opcode::op_vadd4, video_add, 8},
    {Opcode::op_vsub2, video_sub, 16},
    {Opcode::op_vsub4, video_sub, 8},
    {Opcode::op_vavrg2, video_average, 16},
    {Opcode::op_vavrg4, video_average, 8},
    {Opcode::op_vmin2, video_min, 16},
    {Opcode::op_vmin4, video_min, 8},
    {Opcode::op_vmax2, video_max, 16},
    {Opcode::op_vmax4, video_max, 8},
    {Opcode::op_vset2, video_set, 16},
    {Opcode::op_vset4, video_set, 8},
    {Opcode::op_vabsdiff2, video_difference, 16},
    {Opcode::op_vabsdiff4, video_difference, 8},
};
constexpr std::string_view comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};

}  // namespace

bool decode_video(Decoder& d, Step& step) {
  const Form& form = d.form();
  for (const VideoRow& row : rows) {
    if (row.opcode != form.opcode) continue;
    d.want_operands(4, 4);
    const std::size_t named = row.op == video_set ? 2 : 3;  // a comparison gives 0 or 1
    if (form.types.size() != named) return false;
    u32 flags = 0, compare = 0;
    if (is_signed(form.types[named - 2])) flags |= signed_a;
    if (is_signed(form.types[named - 1])) flags |= signed_b;
    if (named == 3 && is_signed(form.types[0])) flags |= signed_d;
    if (form.has("sat")) flags |= saturates;
    if (form.has("add")) flags |= accumulates;
    for (u32 i = 0; i < 6; ++i) compare = form.has(comparisons[i]) ? i : compare;
    step.aux = row.op | (compare << 4) | (flags << 8);
    step.width = static_cast<std::uint8_t>(row.bits);
    step.o[0] = d.target(d.operand(0), 4);
    if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
    for (std::size_t i = 1; i < 4; ++i) step.o[i] = d.source(d.operand(i), 4);
    step.run = run_video;
    return true;
  }
  return false;
}

}  // namespace cupilot::ptx
