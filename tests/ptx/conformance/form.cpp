#include "ptx/conformance/form.hpp"

namespace conformance {

Number argument(const Form& form, const Format& format, u64 bits) {
  Number v = decode(format, bits);
  if (form.ftz && is_subnormal(format, bits)) v = {Number::zero, v.negative, 0, 0};
  return v;
}

Pair evaluate(const Form& form, const u64* v) {
  if (!form.packed) return form.run(form, v);
  Pair out;
  for (int half = 0; half < 2; ++half) {
    u64 part[4] = {};
    for (std::size_t i = 0; i < form.arguments.size(); ++i)
      part[i] = register_bits(form.arguments[i]) == 32 ? (v[i] >> (16 * half)) & 0xffff : v[i];
    const Pair r = form.run(form, part);
    if (form.results[0] == 'p') {
      (half == 0 ? out.first : out.second) = r.first;
    } else {
      out.first |= r.first << (16 * half);
    }
  }
  return out;
}

const char* register_type(char kind) {
  switch (register_bits(kind)) {
    case 1:
      return "pred";
    case 16:
      return "b16";
    case 32:
      return "b32";
    default:
      return "b64";
  }
}

int register_bits(char kind) {
  switch (kind) {
    case 'p':
      return 1;
    case 's':
    case 'e':
    case 'b':
    case 'q':
      return 16;
    case 'l':
    case 'g':
      return 64;
    default:
      return 32;
  }
}

std::string written(const Form& form, const std::vector<std::string>& results,
                    const std::vector<std::string>& arguments) {
  const bool minus = form.text.rfind("sub", 0) == 0;
  std::string before, behind, list = results[0];
  if (results.size() == 2 && form.results[1] == 'p') list += "|" + results[1];
  if (results.size() == 2 && form.results[1] == 'c')
    behind = std::string(minus ? " subc" : " addc") + ".u32 " + results[1] + ", 0, 0;";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool last = i + 1 == arguments.size();
    if (form.arguments[i] == 'c') {
      before = minus ? "sub.cc.u32 %cy, 0, " + arguments[i] + "; "
                     : "add.cc.u32 %cy, " + arguments[i] + ", 0xffffffff; ";
    } else {
      if (last && !form.suffix.empty() && form.arguments[i] == 'p') list += form.suffix;
      list += std::string(", ") + (last && form.inverted ? "!" : "") + arguments[i];
    }
  }
  if (form.arguments.back() != 'p') list += form.suffix;
  return before + form.text + " " + list + ";" + behind;
}

const std::vector<Form>& all_forms() {
  static const std::vector<Form> all = [] {
    std::vector<Form> out;
    add_integer_forms(out);
    add_bit_forms(out);
    add_carry_forms(out);
    add_float_forms(out);
    add_compare_forms(out);
    add_convert_forms(out);
    add_video_forms(out);
    return out;
  }();
  return all;
}

}  // namespace conformance
