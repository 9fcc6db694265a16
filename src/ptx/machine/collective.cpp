// Warp-wide instructions: shuffles, votes, matches, reductions, matrix loads and stores, mma.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/cluster.hpp"
#include "ptx/machine/members.hpp"
#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

enum ShuffleMode : u32 { shuffle_up, shuffle_down, shuffle_bfly, shuffle_idx };

// From a lane that takes no part a shuffle gives anything. Mostly large, so that no sum or maximum
// is right by luck; another each time, so that none cancels; drawn from the seed, so that cases and
// repeats differ and a run can be had again.
u32 undefined_value(Warp& w, u32 lane) {
  const u64 place = (w.block->index << 16) | (w.index << 5) | lane;
  const u64 drawn = mixed(w.block->launch->options->seed ^ mixed(mixed(place + 1) + w.undefined));
  const auto low = static_cast<u32>(drawn);
  switch (drawn >> 62) {
    case 0:
      return full_mask;
    case 1:
      return 0x7e000000u | (low & 0xffffffu);
    case 2:
      return 0xfe000000u | (low & 0xffffffu);
    default:
      return low;
  }
}

void note_undefined(Warp& w, const Step& s, u32 lane, u32 from) {
  if (w.block->launch->took_undefined.exchange(true)) return;
  remark(w, s, lane, "undefined_value",
         fmt::format("lane {} takes the value of lane {}, which does not run the shuffle with it",
                     lane, from));
}

// o: value, predicate, source, b, c; list: member mask.
void shuffle_group(Warp& w, const Step& s) {
  u32* d = w.at<u32>(s.o[0]);
  const u32 *a = w.at<u32>(s.o[2]), *b = w.at<u32>(s.o[3]), *c = w.at<u32>(s.o[4]);
  u32 from[32], valid = 0;
  std::memcpy(from, a, sizeof(from));
  for (u32 lane = 0; lane < 32; ++lane) {
    const u32 bound = c[lane] & 31, segment = (c[lane] >> 8) & 31, by = b[lane] & 31;
    const u32 high = (lane & segment) | (bound & ~segment), low = lane & segment;
    u32 j = 0;
    bool in = true;
    switch (s.aux) {
      case shuffle_up:
        j = lane - by;
        in = static_cast<std::int32_t>(j) >= static_cast<std::int32_t>(high);
        break;
      case shuffle_down:
        j = lane + by;
        in = j <= high;
        break;
      case shuffle_bfly:
        j = lane ^ by;
        in = j <= high;
        break;
      default:
        j = low | (by & ~segment);
        in = j <= high;
        break;
    }
    if (!in) j = lane;
    valid |= static_cast<u32>(in) << lane;
    if (((w.mask >> lane) & 1) == 0) continue;
    if (((w.mask >> (j & 31)) & 1) == 0 && w.block->launch->options->check_initialised) {
      d[lane] = undefined_value(w, lane);
      note_undefined(w, s, lane, j & 31);
    } else {
      d[lane] = from[j & 31];
    }
  }
  ++w.undefined;
  if (s.o[1] != 0) {
    u32& p = w.predicate(s.o[1]);
    p = (p & ~w.mask) | (valid & w.mask);
  }
}

void shuffle(Lanes& l, const Step& s) {
  for_each_group(static_cast<Warp&>(l), s, s.list[0], shuffle_group);
}

enum VoteMode : u32 { vote_all, vote_any, vote_uni, vote_ballot };

void vote_group(Warp& w, const Step& s) {
  const u32 p = (w.predicate(s.o[1]) ^ ((s.flags & 1) != 0 ? full_mask : 0)) & w.mask;
  if (s.aux == vote_ballot) {
    u32* d = w.at<u32>(s.o[0]);
    for (u32 i = 0; i < 32; ++i) d[i] = ((w.mask >> i) & 1) != 0 ? p : d[i];
    return;
  }
  const bool r = s.aux == vote_all   ? p == w.mask
                 : s.aux == vote_any ? p != 0
                                     : p == 0 || p == w.mask;
  u32& q = w.predicate(s.o[0]);
  q = r ? q | w.mask : q & ~w.mask;
}

void vote(Lanes& l, const Step& s) { for_each_group(static_cast<Warp&>(l), s, s.o[2], vote_group); }

void active_mask(Lanes& l, const Step& s) {
  part_lanes(static_cast<Warp&>(l), s);
  u32* d = l.at<u32>(s.o[0]);
  for (u32 i = 0; i < 32; ++i) d[i] = ((l.mask >> i) & 1) != 0 ? l.mask : d[i];
}

// aux: 1 all, 0 any; width: bytes of the value.
void match_group(Warp& w, const Step& s) {
  u32* d = w.at<u32>(s.o[0]);
  u64 value[32];
  for (u32 i = 0; i < 32; ++i)
    value[i] = s.width == 8 ? w.at<u64>(s.o[2])[i] : w.at<u32>(s.o[2])[i];
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 i = first_lane(rest);
    u32 same = 0;
    for (u32 j = 0; j < 32; ++j)
      same |= static_cast<u32>(((w.mask >> j) & 1) != 0 && value[j] == value[i]) << j;
    if (s.aux == 0) {
      d[i] = same;
      continue;
    }
    d[i] = same == w.mask ? w.mask : 0;
    if (s.o[1] != 0) {
      u32& p = w.predicate(s.o[1]);
      p = same == w.mask ? p | (1u << i) : p & ~(1u << i);
    }
  }
}

void match(Lanes& l, const Step& s) {
  for_each_group(static_cast<Warp&>(l), s, s.o[3], match_group);
}

enum ReduceMode : u32 {
  reduce_add,
  reduce_min_u,
  reduce_max_u,
  reduce_min_s,
  reduce_max_s,
  reduce_and,
  reduce_or,
  reduce_xor
};

void reduce_group(Warp& w, const Step& s) {
  u32* d = w.at<u32>(s.o[0]);
  const u32* a = w.at<u32>(s.o[1]);
  u32 r = a[first_lane(w.mask)];
  for (u32 rest = w.mask & (w.mask - 1); rest != 0; rest &= rest - 1) {
    const u32 v = a[first_lane(rest)];
    const auto x = static_cast<std::int32_t>(r), y = static_cast<std::int32_t>(v);
    switch (s.aux) {
      case reduce_add:
        r += v;
        break;
      case reduce_min_u:
        r = std::min(r, v);
        break;
      case reduce_max_u:
        r = std::max(r, v);
        break;
      case reduce_min_s:
        r = static_cast<u32>(std::min(x, y));
        break;
      case reduce_max_s:
        r = static_cast<u32>(std::max(x, y));
        break;
      case reduce_and:
        r &= v;
        break;
      case reduce_or:
        r |= v;
        break;
      default:
        r ^= v;
        break;
    }
  }
  for (u32 i = 0; i < 32; ++i) d[i] = ((w.mask >> i) & 1) != 0 ? r : d[i];
}

void reduce(Lanes& l, const Step& s) {
  for_each_group(static_cast<Warp&>(l), s, s.o[2], reduce_group);
}

void elect_group(Warp& w, const Step& s) {
  const u32 leader = first_lane(w.mask);
  if (s.o[0] != no_slot) {
    u32* d = w.at<u32>(s.o[0]);
    for (u32 i = 0; i < 32; ++i) d[i] = ((w.mask >> i) & 1) != 0 ? leader : d[i];
  }
  u32& p = w.predicate(s.o[1]);
  p = (p & ~w.mask) | (1u << leader);
}

void elect(Lanes& l, const Step& s) {
  for_each_group(static_cast<Warp&>(l), s, s.o[2], elect_group);
}

// Row addresses of `count` 8x8 matrices of 16-bit elements: lanes 8i .. 8i+7 give matrix i.
bool matrix_rows(Warp& w, const Step& s, Intent intent, LanePointers& rows) {
  LaneAddresses a;
  lane_addresses(w, s, s.o[0], a);
  if ((s.flags & space_mask) == space_generic) {
    for (u32 i = 0; i < 8u * s.count; ++i) {
      if ((a.at[i] & window_mask) != shared_window) {
        fault(w, s, i, "run.out_of_bounds",
              fmt::format("address 0x{:x} is not in shared memory", a.at[i]));
        return false;
      }
      a.at[i] &= ~window_mask;
    }
  }
  const u32 lanes = s.count == 4 ? full_mask : (1u << (8 * s.count)) - 1;
  return resolve_shared(w, s, lanes, a, 16, intent, rows, CountBy::rows);
}

void load_matrix(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (!whole_warp(w, s)) return;
  LanePointers rows;
  if (!matrix_rows(w, s, Intent::load, rows)) return;
  for (u32 m = 0; m < s.count; ++m) {
    u32* d = w.at<u32>(s.list[m]);
    u16 cells[8][8];
    for (u32 r = 0; r < 8; ++r) std::memcpy(cells[r], rows.at[8 * m + r], 16);
    for (u32 lane = 0; lane < 32; ++lane) {
      const u32 r = lane / 4, c = (lane % 4) * 2;
      d[lane] = s.aux == 0 ? cells[r][c] | (u32{cells[r][c + 1]} << 16)
                           : cells[c][r] | (u32{cells[c + 1][r]} << 16);
    }
  }
}

void store_matrix(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (!whole_warp(w, s)) return;
  LanePointers rows;
  if (!matrix_rows(w, s, Intent::store, rows)) return;
  for (u32 m = 0; m < s.count; ++m) {
    const u32* v = w.at<u32>(s.list[m]);
    u16 cells[8][8];
    for (u32 lane = 0; lane < 32; ++lane) {
      const u32 r = lane / 4, c = (lane % 4) * 2;
      const auto low = static_cast<u16>(v[lane]), high = static_cast<u16>(v[lane] >> 16);
      (s.aux == 0 ? cells[r][c] : cells[c][r]) = low;
      (s.aux == 0 ? cells[r][c + 1] : cells[c + 1][r]) = high;
    }
    for (u32 r = 0; r < 8; ++r) std::memcpy(rows.at[8 * m + r], cells[r], 16);
  }
}

void transpose_matrix(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (!whole_warp(w, s)) return;
  u16 cells[8][8];
  const u32* v = w.at<u32>(s.o[1]);
  for (u32 lane = 0; lane < 32; ++lane) {
    cells[lane / 4][(lane % 4) * 2] = static_cast<u16>(v[lane]);
    cells[lane / 4][(lane % 4) * 2 + 1] = static_cast<u16>(v[lane] >> 16);
  }
  u32* d = w.at<u32>(s.o[0]);
  for (u32 lane = 0; lane < 32; ++lane)
    d[lane] = cells[(lane % 4) * 2][lane / 4] | (u32{cells[(lane % 4) * 2 + 1][lane / 4]} << 16);
}

bool decode_shuffle(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (!form.has("sync")) d.refuse("the form without .sync does not exist since sm_70");
  d.want_operands(5, 5);
  step.aux = form.has("up")     ? shuffle_up
             : form.has("down") ? shuffle_down
             : form.has("bfly") ? shuffle_bfly
                                : shuffle_idx;
  const std::vector<Operand> results = d.parts(d.operand(0));
  step.o[0] = d.target(results[0], 4);
  if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
  if (results.size() > 1) step.o[1] = d.target_predicate(results[1]);
  for (int i = 1; i < 4; ++i) step.o[i + 1] = d.source(d.operand(static_cast<std::size_t>(i)), 4);
  step.list = d.list({d.source(d.operand(4), 4)});
  step.run = shuffle;
  return true;
}

bool decode_vote(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (!form.has("sync")) d.refuse("the form without .sync does not exist since sm_70");
  d.want_operands(3, 3);
  step.aux = form.has("all")   ? vote_all
             : form.has("any") ? vote_any
             : form.has("uni") ? vote_uni
                               : vote_ballot;
  step.o[0] =
      step.aux == vote_ballot ? d.target(d.operand(0), 4) : d.target_predicate(d.operand(0));
  if (step.o[0] == no_slot || step.o[0] == 0) d.refuse("the result cannot be left out");
  bool inverted = false;
  step.o[1] = d.source_predicate(d.operand(1), inverted);
  step.flags = inverted ? 1 : 0;
  step.o[2] = d.source(d.operand(2), 4);
  step.run = vote;
  return true;
}

bool decode_match(Decoder& d, Step& step) {
  const Form& form = d.form();
  d.want_operands(3, 3);
  if (form.types.size() != 1) return false;
  step.aux = form.has("all") ? 1 : 0;
  step.width = static_cast<u8>(bytes_of(form.types[0]));
  if (step.width != 4 && step.width != 8) return false;
  const std::vector<Operand> results = d.parts(d.operand(0));
  step.o[0] = d.target(results[0], 4);
  if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
  if (results.size() > 1) step.o[1] = d.target_predicate(results[1]);
  step.o[2] = d.source(d.operand(1), step.width);
  step.o[3] = d.source(d.operand(2), 4);
  step.run = match;
  return true;
}

bool decode_reduce(Decoder& d, Step& step) {
  const Form& form = d.form();
  d.want_operands(3, 3);
  if (form.types.size() != 1 || bytes_of(form.types[0]) != 4 || is_float(form.types[0]))
    return false;
  const bool is_s = is_signed(form.types[0]);
  step.aux = form.has("add")   ? reduce_add
             : form.has("min") ? (is_s ? reduce_min_s : reduce_min_u)
             : form.has("max") ? (is_s ? reduce_max_s : reduce_max_u)
             : form.has("and") ? reduce_and
             : form.has("or")  ? reduce_or
                               : reduce_xor;
  step.o[0] = d.target(d.operand(0), 4);
  if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
  step.o[1] = d.source(d.operand(1), 4);
  step.o[2] = d.source(d.operand(2), 4);
  step.run = reduce;
  return true;
}

bool decode_matrix(Decoder& d, Step& step, bool is_load) {
  const Form& form = d.form();
  if (!form.has("m8n8") || !form.has("b16")) return false;
  d.want_operands(2, 2);
  const u32 count = form.has("x4") ? 4 : form.has("x2") ? 2 : form.has("x1") ? 1 : 0;
  const std::vector<Operand> parts = d.parts(d.operand(is_load ? 0 : 1));
  if (count == 0 || parts.size() != count) d.refuse("the vector has the wrong number of parts");
  std::vector<u32> list;
  for (const Operand& p : parts) {
    list.push_back(is_load ? d.target(p, 4) : d.source(p, 4));
    if (list.back() == no_slot) d.refuse("a result cannot be left out");
  }
  step.list = d.list(std::move(list));
  step.count = static_cast<u8>(count);
  step.aux = form.has("trans") ? 1 : 0;
  d.address(step, d.operand(is_load ? 1 : 0), d.memory_space(), 0);
  step.run = is_load ? load_matrix : store_matrix;
  return true;
}

}  // namespace

bool whole_warp(Warp& w, const Step& s) {
  if (w.mask == w.live && w.live == w.present && w.present == full_mask) return true;
  const u32 missing = full_mask & ~w.mask;
  fault(w, s, w.mask != 0 ? first_lane(w.mask) : 0, "run.divergence",
        fmt::format("a warp-wide instruction is not reached by lanes 0x{:08x}", missing));
  return false;
}

void run_mma(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (whole_warp(w, s)) s.inner(l, s);
}

bool decode_collective(Decoder& d, Step& step) {
  switch (d.form().opcode) {
    case Opcode::op_shfl:
      return decode_shuffle(d, step);
    case Opcode::op_vote:
      return decode_vote(d, step);
    case Opcode::op_match:
      return decode_match(d, step);
    case Opcode::op_redux:
      return decode_reduce(d, step);
    case Opcode::op_ldmatrix:
      return decode_matrix(d, step, true);
    case Opcode::op_stmatrix:
      return decode_matrix(d, step, false);
    case Opcode::op_activemask:
      d.want_operands(1, 1);
      step.o[0] = d.target(d.operand(0), 4);
      if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
      step.run = active_mask;
      return true;
    case Opcode::op_elect: {
      d.want_operands(2, 2);
      const std::vector<Operand> results = d.parts(d.operand(0));
      if (results.size() != 2) d.refuse("needs two results");
      step.o[0] = d.target(results[0], 4);
      step.o[1] = d.target_predicate(results[1]);
      if (step.o[1] == 0) d.refuse("the result cannot be left out");
      step.o[2] = d.source(d.operand(1), 4);
      step.run = elect;
      return true;
    }
    case Opcode::op_movmatrix:
      d.want_operands(2, 2);
      step.o[0] = d.target(d.operand(0), 4);
      if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
      step.o[1] = d.source(d.operand(1), 4);
      step.run = transpose_matrix;
      return true;
    default:
      return false;
  }
}

}  // namespace cupilot::ptx
