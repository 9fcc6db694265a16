// Extended-precision addition: the carry goes in and out by way of an instruction before and behind
// (see written()).
#include "ptx/conformance/form.hpp"

namespace conformance {
namespace {

using V = const u64*;

// Adds words and a carry; what leaves the top is the carry.
Pair carried(const Form& f, u128 r) {
  const u64 out = static_cast<u64>(r >> f.bits) & 1;
  return {static_cast<u64>(r) & low_bits(f.bits), out};
}
Pair add(const Form& f, V v) { return carried(f, u128{v[0]} + v[1] + v[2]); }
// Behind stands subc 0, 0, which gives minus the borrow.
Pair sub(const Form& f, V v) {
  const Pair r = carried(f, u128{v[0]} - v[1] - v[2]);
  return {r.first, r.second != 0 ? 0xffffffffu : 0u};
}
u64 part(const Form& f, V v, bool high) {
  const u128 product = static_cast<u128>(extended(v[0], f.bits, f.is_signed)) *
                       static_cast<u128>(extended(v[1], f.bits, f.is_signed));
  return static_cast<u64>(high ? product >> f.bits : product) & low_bits(f.bits);
}
Pair mad_lo(const Form& f, V v) { return carried(f, u128{part(f, v, false)} + v[2] + v[3]); }
Pair mad_hi(const Form& f, V v) { return carried(f, u128{part(f, v, true)} + v[2] + v[3]); }

struct Row {
  const char *plain, *carrying;
  bool multiplies;
  Pair (*run)(const Form&, V);
};
constexpr Row rows[] = {{"add", "addc", false, add},
                        {"sub", "subc", false, sub},
                        {"mad.lo", "madc.lo", true, mad_lo},
                        {"mad.hi", "madc.hi", true, mad_hi}};

}  // namespace

void add_carry_forms(std::vector<Form>& out) {
  for (const IntegerType& type : integer_types) {
    if (type.bits == 16) continue;
    for (const Row& row : rows) {
      for (const int kind : {1, 2, 3}) {  // 1 a carry comes out, 2 one goes in
        const bool in = (kind & 2) != 0, gives = (kind & 1) != 0;
        out.push_back(
            {.text =
                 std::string(in ? row.carrying : row.plain) + (gives ? ".cc." : ".") + type.name,
             .results = std::string(1, type.kind) + (gives ? "c" : ""),
             .arguments = std::string(row.multiplies ? 3 : 2, type.kind) + (in ? "c" : ""),
             .run = row.run,
             .bits = type.bits,
             .is_signed = type.is_signed});
      }
    }
  }
}

}  // namespace conformance
