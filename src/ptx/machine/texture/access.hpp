// Instructions on textures and surfaces: what a decoded form keeps, and the handlers. Internal.
#pragma once

#include "ptx/machine/memory.hpp"
#include "ptx/machine/texture/footprint.hpp"

namespace cupilot::ptx {

// Names what an access outside of a surface does. trap: it is a fault.
enum class Outside : std::uint32_t { trap, clamp, zero };

enum class TextureQuery : std::uint32_t {
  width,
  height,
  depth,
  array_size,
  normalized_coords,
  levels,
  samples
};

// The fields of a form, as words of Step::list.
struct TextureForm {
  std::uint32_t handle;   // slot of 64 bits
  std::uint32_t rank;     // of a layer
  std::uint32_t layered;  // then the slot of the layer
  std::uint32_t layer;
  std::uint32_t coordinates[3];  // slots of 32 bits
  std::uint32_t whole;           // the coordinates are s32, else f32
  std::uint32_t type;            // of a value
  std::uint32_t count;           // values
  std::uint32_t values[4];       // slots; no_slot: a sink
  std::uint32_t resident;        // predicate slot that becomes true; 0: none
  std::uint32_t gather;          // tld4: 1 + the channel
  std::uint32_t outside, op;     // of surfaces: Outside, AtomicOp
  std::uint32_t query;           // TextureQuery
};
inline constexpr std::size_t texture_form_words = sizeof(TextureForm) / 4;

inline TextureForm texture_form(const Step& step) {
  TextureForm form;
  __builtin_memcpy(&form, step.list, sizeof(form));
  return form;
}

// The object that a lane's handle names, of the wanted kind and shape; null after a fault.
const TextureObject* texture_of(Warp& warp, const Step& step, std::uint32_t lane,
                                const TextureForm& form, bool surface);

void run_texture(Lanes& lanes, const Step& step);         // tex, tld4
void run_texture_query(Lanes& lanes, const Step& step);   // txq, suq
void run_object_kind(Lanes& lanes, const Step& step);     // istypep; aux: 0 texref, 1 surfref
void run_surface_load(Lanes& lanes, const Step& step);    // suld
void run_surface_store(Lanes& lanes, const Step& step);   // sust
void run_surface_reduce(Lanes& lanes, const Step& step);  // sured

}  // namespace cupilot::ptx
