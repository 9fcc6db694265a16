// suld, sust and sured: bytes of texels, the first coordinate in bytes.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/atomic.hpp"
#include "ptx/machine/texture/access.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;

// Holds where the lanes' texels lie. `inside`: lanes that touch memory; others read zeros or drop.
struct Spots {
  LaneAddresses at{};
  u32 inside = 0;
};

// "byte 64 of row 3, layer 1"
std::string place_of(const TextureForm& f, const std::array<std::int64_t, 3>& at,
                     std::int64_t layer) {
  std::string out = fmt::format("byte {}", at[0]);
  if (f.rank > 1) out += fmt::format(" of row {}", at[1]);
  if (f.rank > 2) out += fmt::format(", slice {}", at[2]);
  if (f.layered != 0) out += fmt::format(", layer {}", layer);
  return out;
}

std::string size_of(const TextureObject& t) {
  std::string out = fmt::format("{} bytes a row", t.sides[0] * texel_bytes(t));
  if (t.rank > 1) out += fmt::format(", {} rows", t.sides[1]);
  if (t.rank > 2) out += fmt::format(", {} slices", t.sides[2]);
  if (t.layers != 0) out += fmt::format(", {} layers", t.layers);
  return out;
}

const char* verb_of(const Step& s) {
  return s.run == run_surface_load ? "reads" : s.run == run_surface_store ? "writes" : "updates";
}

bool spot(Warp& w, const Step& s, u32 lane, const TextureForm& f, u32 bytes, Spots& out) {
  const TextureObject* t = texture_of(w, s, lane, f, true);
  if (t == nullptr) return false;
  std::array<std::int64_t, 3> at{};
  for (u32 d = 0; d < f.rank; ++d) at[d] = w.at<s32>(f.coordinates[d])[lane];
  std::int64_t layer = f.layered != 0 ? std::int64_t{w.at<u32>(f.layer)[lane]} : 0;
  if (at[0] % bytes != 0) {
    fault(w, s, lane, "run.misaligned",
          fmt::format("{} {} of surface {}, which is no multiple of {} bytes", verb_of(s),
                      place_of(f, at, layer), t->name, bytes));
    return false;
  }
  const std::int64_t row = t->sides[0] * texel_bytes(*t);
  bool inside = at[0] >= 0 && at[0] + bytes <= row && (f.layered == 0 || layer < t->layers);
  for (u32 d = 1; d < f.rank; ++d) inside = inside && at[d] >= 0 && at[d] < t->sides[d];
  const auto outside = static_cast<Outside>(f.outside);
  if (!inside && outside == Outside::trap) {
    fault(w, s, lane, "run.out_of_bounds",
          fmt::format("{} {} of surface {}, which has {}", verb_of(s), place_of(f, at, layer),
                      t->name, size_of(*t)));
    return false;
  }
  if (!inside && outside == Outside::zero) return true;
  at[0] = std::clamp<std::int64_t>(at[0], 0, row - bytes);
  for (u32 d = 1; d < f.rank; ++d) at[d] = std::clamp<std::int64_t>(at[d], 0, t->sides[d] - 1);
  layer = std::clamp<std::int64_t>(layer, 0, std::max<std::int64_t>(t->layers - 1, 0));
  const auto first = static_cast<u64>(at[0]);
  at[0] = 0;
  out.at.at[lane] = texel_address(*t, at, layer) + first;
  out.inside |= 1u << lane;
  return true;
}

bool find(Warp& w, const Step& s, const TextureForm& f, u32 bytes, Spots& out) {
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    if (!spot(w, s, first_lane(rest), f, bytes, out)) return false;
  }
  return true;
}

}  // namespace

void run_surface_load(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const TextureForm f = texture_form(s);
  const u32 one = bytes_of(static_cast<Type>(f.type));
  Spots spots;
  LanePointers from;
  if (!find(w, s, f, one * f.count, spots)) return;
  if (spots.inside != 0 &&
      !resolve(w, s, space_global, spots.inside, spots.at, one * f.count, Intent::load, from))
    return;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    for (u32 i = 0; i < f.count; ++i) {
      if (f.values[i] == no_slot) continue;
      u64 bits = 0;
      if (((spots.inside >> lane) & 1) != 0) std::memcpy(&bits, from.at[lane] + i * one, one);
      std::memcpy(w.regs + f.values[i] + lane * s.width, &bits, s.width);
    }
  }
}

void run_surface_store(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const TextureForm f = texture_form(s);
  const u32 one = bytes_of(static_cast<Type>(f.type));
  Spots spots;
  LanePointers to;
  if (!find(w, s, f, one * f.count, spots) || spots.inside == 0 ||
      !resolve(w, s, space_global, spots.inside, spots.at, one * f.count, Intent::store, to))
    return;
  for (u32 rest = spots.inside; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    for (u32 i = 0; i < f.count; ++i)
      std::memcpy(to.at[lane] + i * one, w.regs + f.values[i] + lane * s.width, one);
  }
}

void run_surface_reduce(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const TextureForm f = texture_form(s);
  const auto type = static_cast<Type>(f.type);
  const u32 bytes = bytes_of(type);
  Spots spots;
  LanePointers at;
  LaunchContext& launch = *w.block->launch;
  const Spin hold(launch.atomics, launch.parallel);
  if (!find(w, s, f, bytes, spots) || spots.inside == 0 ||
      !resolve(w, s, space_global, spots.inside, spots.at, bytes, Intent::atomic, at))
    return;
  for (u32 rest = spots.inside; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    u64 old = 0, value = 0;
    std::memcpy(&old, at.at[lane], bytes);
    std::memcpy(&value, w.regs + f.values[0] + lane * s.width, s.width);
    const u64 fresh = apply_atomic(static_cast<AtomicOp>(f.op), type, old, value, 0);
    std::memcpy(at.at[lane], &fresh, bytes);
  }
}

}  // namespace cupilot::ptx
