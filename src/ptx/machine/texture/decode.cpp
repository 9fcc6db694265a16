// Forms of instructions on textures and surfaces.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "ptx/machine/atomic.hpp"
#include "ptx/machine/texture/access.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;

struct Shape {
  const char* name;
  u32 rank;
  bool layered;
};
constexpr Shape shapes[] = {
    {"1d", 1, false}, {"2d", 2, false}, {"3d", 3, false}, {"a1d", 1, true}, {"a2d", 2, true}};

// False: cubes and textures of several samples.
bool keep_shape(const Form& form, TextureForm& f) {
  const auto* shape = std::find_if(std::begin(shapes), std::end(shapes),
                                   [&](const Shape& one) { return form.has(one.name); });
  if (shape == std::end(shapes)) return false;
  f.rank = shape->rank;
  f.layered = shape->layered ? 1 : 0;
  return true;
}

// [a]: the handle, which a register holds.
void keep_handle(Decoder& d, TextureForm& f, const Operand& o) {
  if (o.kind != OperandKind::address || o.base != OperandKind::reg || o.offset != 0)
    d.refuse("takes an object by its handle in a register");
  Operand handle = o;
  handle.kind = OperandKind::reg;
  f.handle = d.source(handle, 8);
}

// [a, {layer, x, y, z}]. A vector of three has a fourth part that nobody reads.
void keep_place(Decoder& d, TextureForm& f, const Operand& o) {
  keep_handle(d, f, o);
  const u32 wanted = f.rank + f.layered, most = wanted == 3 ? 4 : wanted;
  if (o.count < wanted || o.count > most)
    d.refuse(fmt::format("needs {} coordinates, not {}", wanted, o.count));
  u32 next = o.coordinates;
  if (f.layered != 0) f.layer = d.source(d.function.operands[next++], 4);
  for (u32 i = 0; i < f.rank; ++i)
    f.coordinates[i] = d.source(d.function.operands[next++], 4, f.whole == 0);
}

void keep_values(Decoder& d, Step& step, TextureForm& f, const Operand& o, bool results) {
  const std::vector<Operand> parts = d.parts(o);
  if (parts.size() != f.count) d.refuse("the vector has the wrong number of parts");
  step.width = static_cast<u8>(std::max(2u, bytes_of(static_cast<Type>(f.type))));
  for (u32 i = 0; i < f.count; ++i)
    f.values[i] = results ? d.target(parts[i], step.width) : d.source(parts[i], step.width);
}

void keep(Decoder& d, Step& step, const TextureForm& f, Handler run) {
  std::vector<u32> list(texture_form_words);
  std::memcpy(list.data(), &f, sizeof(f));
  step.list = d.list(std::move(list));
  step.run = run;
}

// Texels are read as by ld.global.nc: nobody may write them while the kernel runs.
void reads_texels(Step& step) { step.flags = space_global | flag_read_only; }

bool decode_tex(Decoder& d, Step& step) {
  const Form& form = d.form();
  TextureForm f{};
  if (!keep_shape(form, f) || form.types.size() != 2) return false;
  const Type type = form.types[0];
  const bool pairs = type == Type::f16x2;
  f.type = static_cast<u32>(type);
  f.count = form.vector;
  f.whole = form.types[1] == Type::s32 ? 1 : 0;
  if (f.count != (pairs ? 2 : 4) || (f.whole == 0 && form.types[1] != Type::f32)) return false;
  if (type != Type::f32 && type != Type::s32 && type != Type::u32 && type != Type::f16 && !pairs)
    return false;
  if (form.opcode == Opcode::op_tld4) {
    static constexpr const char* channels[] = {"r", "g", "b", "a"};
    const auto* channel = std::find_if(std::begin(channels), std::end(channels),
                                       [&](const char* one) { return form.has(one); });
    if (channel == std::end(channels) || f.rank != 2 || f.layered != 0 || pairs) return false;
    f.gather = static_cast<u32>(channel - std::begin(channels)) + 1;
  }
  // The level of a texture without levels, and what it is found by, make no difference.
  const std::size_t wanted = form.has("grad") ? 4 : form.has("level") ? 3 : 2;
  if (d.operand_count() != wanted)
    d.refuse("the virtual device knows no texel offsets and no comparisons");
  const Operand& result = d.operand(0);
  if (result.pair) {
    const std::vector<Operand> both = d.parts(result);
    f.resident = d.target_predicate(both[1]);
    keep_values(d, step, f, both[0], true);
  } else {
    keep_values(d, step, f, result, true);
  }
  keep_place(d, f, d.operand(1));
  reads_texels(step);
  keep(d, step, f, run_texture);
  return true;
}

bool decode_query(Decoder& d, Step& step) {
  static constexpr const char* queries[] = {
      "width",      "height", "depth", "array_size", "normalized_coords", "num_mipmap_levels",
      "num_samples"};
  const Form& form = d.form();
  const auto* query = std::find_if(std::begin(queries), std::end(queries),
                                   [&](const char* one) { return form.has(one); });
  if (query == std::end(queries) || !form.has("b32")) return false;
  d.want_operands(2, 2);
  TextureForm f{};
  f.query = static_cast<u32>(query - std::begin(queries));
  f.values[0] = d.target(d.operand(0), 4);
  if (f.values[0] == no_slot) d.refuse("the result cannot be left out");
  keep_handle(d, f, d.operand(1));
  step.aux = form.opcode == Opcode::op_suq ? 1 : 0;
  keep(d, step, f, run_texture_query);
  return true;
}

bool decode_kind(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (!form.has("texref") && !form.has("surfref")) return false;
  d.want_operands(2, 2);
  TextureForm f{};
  f.resident = d.target_predicate(d.operand(0));
  if (f.resident == 0) d.refuse("the result cannot be left out");
  const Operand& object = d.operand(1);
  if (object.kind == OperandKind::address) {
    keep_handle(d, f, object);
  } else {
    f.handle = d.source(object, 8);
  }
  step.aux = form.has("surfref") ? 1 : 0;
  keep(d, step, f, run_object_kind);
  return true;
}

std::optional<Outside> outside_of(const Form& form) {
  if (form.has("trap")) return Outside::trap;
  if (form.has("clamp")) return Outside::clamp;
  if (form.has("zero")) return Outside::zero;
  return std::nullopt;
}

std::optional<AtomicOp> reduction_of(const Form& form) {
  static constexpr struct {
    const char* name;
    AtomicOp op;
  } rows[] = {{"add", AtomicOp::add},
              {"min", AtomicOp::min},
              {"max", AtomicOp::max},
              {"and", AtomicOp::and_},
              {"or", AtomicOp::or_}};
  for (const auto& row : rows) {
    if (form.has(row.name)) return row.op;
  }
  return std::nullopt;
}

bool decode_surface(Decoder& d, Step& step) {
  const Form& form = d.form();
  TextureForm f{};
  const auto outside = outside_of(form);
  if (!keep_shape(form, f) || !form.has("b") || !outside || form.types.size() != 1) return false;
  d.want_operands(2, 2);
  f.outside = static_cast<u32>(*outside);
  f.whole = 1;
  f.type = static_cast<u32>(form.types[0]);
  f.count = form.vector;
  const u32 bytes = bytes_of(form.types[0]);
  if (bytes == 0 || bytes > 8 || f.count * bytes > 16) return false;
  const bool load = form.opcode == Opcode::op_suld;
  if (form.opcode == Opcode::op_sured) {
    const auto op = reduction_of(form);
    const Type type = form.types[0] == Type::b32   ? Type::u32
                      : form.types[0] == Type::b64 ? Type::u64
                                                   : form.types[0];
    const bool bits = op == AtomicOp::and_ || op == AtomicOp::or_;
    if (!op || f.count != 1 || (!bits && type != form.types[0])) return false;
    f.op = static_cast<u32>(*op);
    f.type = static_cast<u32>(type);
  }
  keep_values(d, step, f, d.operand(load ? 0 : 1), load);
  keep_place(d, f, d.operand(load ? 1 : 0));
  step.flags = space_global;
  if (load) reads_texels(step);
  if (!load) d.note_written_unit(bytes);
  keep(d, step, f,
       load                             ? run_surface_load
       : form.opcode == Opcode::op_sust ? run_surface_store
                                        : run_surface_reduce);
  return true;
}

}  // namespace

bool decode_texture(Decoder& d, Step& step) {
  switch (d.form().opcode) {
    case Opcode::op_tex:
    case Opcode::op_tld4:
      return decode_tex(d, step);
    case Opcode::op_txq:
    case Opcode::op_suq:
      return decode_query(d, step);
    case Opcode::op_istypep:
      return decode_kind(d, step);
    case Opcode::op_suld:
    case Opcode::op_sust:
    case Opcode::op_sured:
      return decode_surface(d, step);
    default:
      return false;
  }
}

}  // namespace cupilot::ptx
