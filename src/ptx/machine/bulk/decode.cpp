// Forms of bulk copies, and of st.async and red.async.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/atomic.hpp"
#include "ptx/machine/bulk/bulk.hpp"
#include "ptx/machine/transfer.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr struct {
  const char* name;
  AtomicOp op;
} reductions[] = {{"add", AtomicOp::add}, {"min", AtomicOp::min}, {"max", AtomicOp::max},
                  {"inc", AtomicOp::inc}, {"dec", AtomicOp::dec}, {"and", AtomicOp::and_},
                  {"or", AtomicOp::or_},  {"xor", AtomicOp::xor_}};

void decode_reduction(const Decoder& d, BulkForm& f) {
  f.reduces = 1;
  for (const auto& row : reductions) {
    if (!d.form().has(row.name)) continue;
    f.op = static_cast<u32>(row.op);
    if (f.rank != 0) return;  // the map tells the type
    if (d.form().types.size() != 1 || !atomic_allowed(row.op, d.form().types[0]))
      d.refuse("has no such reduction");
    f.type = static_cast<u32>(d.form().types[0]);
    return;
  }
  d.refuse("lacks a reduction");
}

void keep_place(Decoder& d, u32* out, const Operand& o, MemorySpace space) {
  std::vector<u32> words;
  add_place(d, words, o, space);
  std::copy(words.begin(), words.end(), out);
}

// [map, {x, y}]: the map's generic address and the slots of the coordinates.
void keep_map(Decoder& d, BulkForm& f, const Operand& o) {
  if (o.kind != OperandKind::address || o.count != f.rank)
    d.refuse(fmt::format("needs a tensor map with {} coordinates", f.rank));
  keep_place(d, f.other, o, space_generic);
  for (u32 i = 0; i < f.rank; ++i)
    f.coordinates[i] = d.source(d.function.operands[o.coordinates + i], 4);
}

u32 dimensions(const Form& form) {
  for (u32 i = 1; i <= 5; ++i) {
    const char name[] = {static_cast<char>('0' + i), 'd', 0};
    if (form.has(name)) return i;
  }
  return 0;
}

// Operands from `next` on that follow the places: a multicast mask, a cache policy, a byte mask.
void keep_rest(Decoder& d, BulkForm& f, std::size_t next) {
  const Form& form = d.form();
  f.multicast = form.has("multicast::cluster") ? 1 : 0;
  f.masked = form.has("cp_mask") ? 1 : 0;
  const std::size_t policy = form.has("L2::cache_hint") ? 1 : 0;
  const std::size_t wanted = next + f.multicast + policy + f.masked;
  d.want_operands(wanted, wanted);
  if (f.multicast != 0) f.mask = d.source(d.operand(next++), 2);
  if (policy != 0) d.source(d.operand(next++), 8);
  if (f.masked != 0) f.byte_mask = d.source(d.operand(next), 2);
}

bool decode_copy(Decoder& d, Step& step, bool reduces) {
  const Form& form = d.form();
  BulkForm f{};
  f.rank = form.has("tensor") ? dimensions(form) : 0;
  if (form.has("tensor") && f.rank == 0) return false;
  for (const char* lacking : {"im2col", "im2col::w", "im2col::w::128", "im2col_no_offs",
                              "tile::gather4", "tile::scatter4", "cta_group::1", "cta_group::2"}) {
    if (form.has(lacking)) return false;
  }
  const auto first =
      std::find_if(form.modifiers.begin(), form.modifiers.end(), [](const std::string& m) {
        return m == "global" || m == "shared::cta" || m == "shared::cluster";
      });
  if (first == form.modifiers.end()) return false;
  const std::string to = *first, from = first + 1 == form.modifiers.end() ? "" : *(first + 1);
  if (reduces) decode_reduction(d, f);
  std::size_t next = 0;
  if (form.has("prefetch")) {
    f.prefetch = 1;
    if (f.rank != 0) keep_map(d, f, d.operand(next++));
    if (f.rank == 0) keep_place(d, f.other, d.operand(next++), space_global);
    if (f.rank == 0) f.size = d.source(d.operand(next++), 4);
  } else if (to == "global" && from == "shared::cta" && form.has("bulk_group")) {
    f.way = static_cast<u32>(Way::store);
    if (f.rank != 0) keep_map(d, f, d.operand(next++));
    if (f.rank == 0) keep_place(d, f.other, d.operand(next++), space_global);
    keep_place(d, f.shared, d.operand(next++), space_shared);
    if (f.rank == 0) f.size = d.source(d.operand(next++), 4);
  } else if (form.has("mbarrier::complete_tx::bytes") && to != "global" &&
             (from == "global" || (from == "shared::cta" && f.rank == 0))) {
    f.way = static_cast<u32>(from == "global" ? Way::load : Way::between);
    if (reduces && from != "shared::cta") return false;
    keep_place(d, f.shared, d.operand(next++), space_shared);
    if (f.rank != 0) keep_map(d, f, d.operand(next++));
    if (f.rank == 0)
      keep_place(d, f.other, d.operand(next++), from == "global" ? space_global : space_shared);
    if (f.rank == 0) f.size = d.source(d.operand(next++), 4);
    keep_place(d, f.barrier, d.operand(next++), space_shared);
  } else {
    return false;
  }
  keep_rest(d, f, next);
  std::vector<u32> list(bulk_form_words);
  std::memcpy(list.data(), &f, sizeof(f));
  step.list = d.list(std::move(list));
  step.run = run_bulk;
  return true;
}

bool decode_send(Decoder& d, Step& step, bool reduces) {
  const Form& form = d.form();
  if (!form.has("mbarrier::complete_tx::bytes") || form.types.size() != 1) return false;
  const MemorySpace space = form.has("shared::cluster") ? space_shared : space_generic;
  d.want_operands(3, 3);
  d.program.async = true;
  BulkForm f{};
  if (reduces) decode_reduction(d, f);
  const u32 bytes = bytes_of(form.types[0]);
  if (bytes != 4 && bytes != 8) d.refuse("sends values of 32 or 64 bits");
  keep_place(d, f.shared, d.operand(0), space);
  keep_place(d, f.barrier, d.operand(2), space);
  const std::vector<Operand> values = d.parts(d.operand(1));
  if (values.size() != form.vector || (reduces && values.size() != 1))
    d.refuse("the vector has the wrong number of parts");
  std::vector<u32> list(bulk_form_words);
  std::memcpy(list.data(), &f, sizeof(f));
  for (const Operand& v : values) list.push_back(d.source(v, bytes, is_float(form.types[0])));
  step.list = d.list(std::move(list));
  step.count = static_cast<u8>(values.size());
  step.bytes = step.width = static_cast<u8>(bytes);
  if (step.count * bytes > 16) d.refuse("sends more than 16 bytes");
  step.run = run_send;
  return true;
}

}  // namespace

bool decode_bulk(Decoder& d, Step& step) {
  const Form& form = d.form();
  const bool async = form.has("async");
  if (form.opcode == Opcode::op_st && async) return decode_send(d, step, false);
  if (form.opcode == Opcode::op_red && async) return decode_send(d, step, true);
  if (form.opcode != Opcode::op_cp || !async || !form.has("bulk")) return false;
  d.program.async = true;
  if (form.has("commit_group")) {
    d.want_operands(0, 0);
    step.run = run_bulk_commit;
    return true;
  }
  if (form.has("wait_group")) {
    d.want_operands(1, 1);
    if (d.operand(0).kind != OperandKind::immediate) d.refuse("needs a number");
    step.aux = static_cast<u32>(std::min<u64>(d.operand(0).bits, 1u << 20));
    step.flags = form.has("read") ? 1 : 0;
    step.run = run_bulk_wait;
    return true;
  }
  return decode_copy(d, step, form.has("reduce"));
}

}  // namespace cupilot::ptx
