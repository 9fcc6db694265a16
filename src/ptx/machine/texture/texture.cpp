// tex, tld4 and the questions that are asked of textures and surfaces.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "ptx/machine/atomic.hpp"
#include "ptx/machine/texture/access.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;

const TextureObject* object_at(const Warp& w, u64 handle) {
  const std::vector<TextureObject>& all = w.block->launch->launch->textures;
  const u64 index = handle - texture_handles - 1;
  return handle > texture_handles && index < all.size() ? &all[index] : nullptr;
}

// One fetch of a lane.
struct Fetch {
  const TextureObject* object = nullptr;
  Footprint footprint;
  std::int64_t layer = 0;
  u8 texels[8][16] = {};  // bytes as they lie in memory
};

std::string shape_name(u32 rank, bool layered) {
  return fmt::format("{}{}D", layered ? "a layered " : "", rank);
}

bool filters_numbers(const TextureObject& t) { return is_float(t.channel) || t.normalized_read; }

// True if the instruction's type is what the texture's elements become.
bool type_fits(Warp& w, const Step& s, u32 lane, const TextureForm& f, const TextureObject& t) {
  const auto type = static_cast<Type>(f.type);
  const bool wants_float = is_float(type) || type == Type::f16x2;
  const bool fits =
      wants_float == filters_numbers(t) && (wants_float || is_signed(type) == is_signed(t.channel));
  if (fits) return true;
  fault(w, s, lane, "run.launch",
        fmt::format("takes {} from texture {}, whose elements are {} read as {}", name_of(type),
                    t.name, name_of(t.channel),
                    is_float(t.channel) ? "they are"
                    : t.normalized_read ? "fractions"
                                        : "integers"));
  return false;
}

bool can_fetch(Warp& w, const Step& s, u32 lane, const TextureForm& f, const TextureObject& t) {
  const bool line = t.memory == TextureObject::Memory::linear;
  const auto no = [&](const char* why) {
    fault(w, s, lane, "run.launch", fmt::format("texture {} {}", t.name, why));
    return false;
  };
  if (line && f.whole == 0) return no("of linear memory is fetched by integers alone");
  if (!line && f.whole != 0 && t.normalized)
    return no("takes coordinates from 0 to 1, no integers");
  if (t.linear && !filters_numbers(t)) return no("has a linear filter and integers");
  if (f.gather != 0 && (t.rank != 2 || line)) return no("is no plane to gather from");
  return type_fits(w, s, lane, f, t);
}

// The four texels of a linear filter, in the order of tld4: counterclockwise from the lower left.
Footprint gathered(const TextureObject& t, const std::array<double, 3>& at) {
  const Footprint all = linear_footprint(t, at);
  Footprint out = all;
  for (std::size_t i = 0; i < 4; ++i) out.texels[i] = all.texels[std::array{2, 3, 1, 0}[i]];
  return out;
}

bool aim(Warp& w, const Step& s, u32 lane, const TextureForm& f, Fetch& fetch) {
  fetch.object = texture_of(w, s, lane, f, false);
  if (fetch.object == nullptr || !can_fetch(w, s, lane, f, *fetch.object)) return false;
  const TextureObject& t = *fetch.object;
  if (f.layered != 0)
    fetch.layer = std::clamp<std::int64_t>(w.at<u32>(f.layer)[lane], 0, t.layers - 1);
  if (f.whole != 0) {
    std::array<std::int64_t, 3> at{};
    for (u32 d = 0; d < f.rank; ++d) at[d] = w.at<s32>(f.coordinates[d])[lane];
    fetch.footprint = fetch_footprint(t, at);
    return true;
  }
  std::array<double, 3> at{};
  for (u32 d = 0; d < f.rank; ++d) at[d] = static_cast<double>(w.at<float>(f.coordinates[d])[lane]);
  fetch.footprint = f.gather != 0 ? gathered(t, at)
                    : t.linear    ? linear_footprint(t, at)
                                  : point_footprint(t, at);
  return true;
}

// Counts a warp's fetches as one load of the sectors that their texels lie in, as if an array lay
// like the tensor.
void count_sectors(Warp& w, std::vector<u64>& sectors) {
  std::sort(sectors.begin(), sectors.end());
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
  count_up(w, Counter::global_load_requests, 1);
  count_up(w, Counter::global_load_sectors, sectors.size());
}

// Reads corner after corner of all lanes.
bool read_texels(Warp& w, const Step& s, std::vector<Fetch>& fetches) {
  std::vector<u64> sectors;
  for (std::size_t corner = 0; corner < 8; ++corner) {
    for (u32 bytes = 1; bytes <= 16; bytes *= 2) {
      LaneAddresses a{};
      LanePointers from;
      u32 mask = 0;
      for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
        const u32 lane = first_lane(rest);
        const Fetch& f = fetches[lane];
        const Footprint::Texel& texel = f.footprint.texels[corner];
        if (corner >= static_cast<std::size_t>(f.footprint.count) || !texel.inside ||
            texel_bytes(*f.object) != bytes)
          continue;
        a.at[lane] = texel_address(*f.object, texel.at, f.layer);
        sectors.push_back(a.at[lane] / 32);
        note_lines(w, Intent::load, a.at[lane], bytes);
        mask |= 1u << lane;
      }
      if (mask == 0) continue;
      if (!resolve(w, s, space_global, mask, a, bytes, Intent::load, from, CountBy::none))
        return false;
      for (u32 rest = mask; rest != 0; rest &= rest - 1)
        std::memcpy(fetches[first_lane(rest)].texels[corner], from.at[first_lane(rest)], bytes);
    }
  }
  count_sectors(w, sectors);
  return true;
}

// The value of one channel of a fetch; for integers exact, for there is one texel.
double value_of(const Fetch& f, u32 channel) {
  const u32 at = channel * bytes_of(f.object->channel);
  // A sum would lose the sign of a single texel's zero.
  if (f.footprint.count == 1)
    return f.footprint.texels[0].inside ? channel_value(*f.object, f.texels[0] + at) : 0;
  double sum = 0;
  for (int i = 0; i < f.footprint.count; ++i) {
    const Footprint::Texel& texel = f.footprint.texels[static_cast<std::size_t>(i)];
    // A texel of no weight does not count, be it infinite.
    if (texel.inside && texel.weight != 0)
      sum += texel.weight * channel_value(*f.object, f.texels[i] + at);
  }
  return sum;
}

void put(Warp& w, Type type, u32 slot, u32 lane, double value, bool defined) {
  if (slot == no_slot) return;
  if (type == Type::f16) {
    w.at<u16>(slot)[lane] = defined ? half_bits(value, false) : u16{0xffff};
    return;
  }
  u32 bits = full_mask;  // nobody says what a channel holds that the texture lacks
  if (defined && type == Type::f32) {
    const auto rounded = static_cast<float>(value);
    std::memcpy(&bits, &rounded, 4);
  } else if (defined) {
    bits = static_cast<u32>(static_cast<std::int64_t>(value));
  }
  w.at<u32>(slot)[lane] = bits;
}

void put_halves(Warp& w, const TextureForm& f, const Fetch& fetch, u32 lane) {
  for (u32 i = 0; i < f.count; ++i) {
    if (f.values[i] == no_slot) continue;
    u32 bits = 0;
    for (u32 half = 0; half < 2; ++half) {
      const u32 channel = 2 * i + half;
      const u32 one =
          channel < fetch.object->channels ? half_bits(value_of(fetch, channel), false) : 0xffffu;
      bits |= one << (16 * half);
    }
    w.at<u32>(f.values[i])[lane] = bits;
  }
}

void put_gathered(Warp& w, const TextureForm& f, const Fetch& fetch, u32 lane) {
  const u32 channel = f.gather - 1;
  const bool defined = channel < fetch.object->channels;
  for (u32 i = 0; i < 4; ++i) {
    const double value =
        defined && fetch.footprint.texels[i].inside
            ? channel_value(*fetch.object,
                            fetch.texels[i] + channel * bytes_of(fetch.object->channel))
            : 0;
    put(w, static_cast<Type>(f.type), f.values[i], lane, value, defined);
  }
}

std::int64_t answer(const TextureObject& t, TextureQuery query) {
  switch (query) {
    case TextureQuery::width:
      return t.sides[0];
    case TextureQuery::height:
      return t.rank > 1 ? t.sides[1] : 0;
    case TextureQuery::depth:
      return t.rank > 2 ? t.sides[2] : 0;
    case TextureQuery::array_size:
      return t.layers;
    case TextureQuery::normalized_coords:
      return t.normalized ? 1 : 0;
    default:
      return 1;
  }
}

}  // namespace

const TextureObject* texture_of(Warp& w, const Step& s, u32 lane, const TextureForm& f,
                                bool surface) {
  const u64 handle = w.at<u64>(f.handle)[lane];
  const TextureObject* t = object_at(w, handle);
  const char* wanted = surface ? "surface" : "texture";
  if (t == nullptr || t->surface != surface) {
    fault(w, s, lane, "run.out_of_bounds",
          t == nullptr
              ? fmt::format("0x{:x} is the handle of no {} of the launch", handle, wanted)
              : fmt::format("{} is a {}, no {}", t->name, surface ? "texture" : "surface", wanted));
    return nullptr;
  }
  if (f.rank == 0 || (t->rank == f.rank && (t->layers != 0) == (f.layered != 0))) return t;
  fault(w, s, lane, "run.launch",
        fmt::format("takes {} {}, but {} is {}", shape_name(f.rank, f.layered != 0), wanted,
                    t->name, shape_name(t->rank, t->layers != 0)));
  return nullptr;
}

void run_texture(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const TextureForm f = texture_form(s);
  std::vector<Fetch> fetches(32);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    if (!aim(w, s, first_lane(rest), f, fetches[first_lane(rest)])) return;
  }
  if (w.mask == 0 || !read_texels(w, s, fetches)) return;
  const auto type = static_cast<Type>(f.type);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    const Fetch& fetch = fetches[lane];
    if (f.gather != 0) {
      put_gathered(w, f, fetch, lane);
    } else if (type == Type::f16x2) {
      put_halves(w, f, fetch, lane);
    } else {
      for (u32 i = 0; i < f.count; ++i) {
        const bool defined = i < fetch.object->channels;
        put(w, type, f.values[i], lane, defined ? value_of(fetch, i) : 0, defined);
      }
    }
  }
  if (f.resident != 0) w.predicate(f.resident) |= w.mask;
}

void run_texture_query(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const TextureForm f = texture_form(s);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    const TextureObject* t = texture_of(w, s, lane, f, s.aux != 0);
    if (t == nullptr) return;
    w.at<u32>(f.values[0])[lane] = static_cast<u32>(answer(*t, static_cast<TextureQuery>(f.query)));
  }
}

void run_object_kind(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const TextureForm f = texture_form(s);
  u32 bits = 0;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    const TextureObject* t = object_at(w, w.at<u64>(f.handle)[lane]);
    bits |= t != nullptr && t->surface == (s.aux != 0) ? 1u << lane : 0;
  }
  u32& p = w.predicate(f.resident);
  p = (p & ~w.mask) | bits;
}

}  // namespace cupilot::ptx
