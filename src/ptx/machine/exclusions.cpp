#include "ptx/machine/exclusions.hpp"

#include <algorithm>

namespace cupilot::ptx {
namespace {

bool one_of(const Form& form, std::initializer_list<Opcode> opcodes) {
  return std::find(opcodes.begin(), opcodes.end(), form.opcode) != opcodes.end();
}

// Covers what is left out of textures and surfaces.
bool of_textures(const Form& f) {
  if (!one_of(f, {Opcode::op_tex, Opcode::op_tld4, Opcode::op_txq, Opcode::op_istypep,
                  Opcode::op_suld, Opcode::op_sust, Opcode::op_sured, Opcode::op_suq}))
    return false;
  static constexpr const char* words[] = {"cube",
                                          "acube",
                                          "2dms",
                                          "a2dms",
                                          "p",
                                          "samplerref",
                                          "channel_data_type",
                                          "channel_order",
                                          "memory_layout",
                                          "filter_mode",
                                          "addr_mode_0",
                                          "addr_mode_1",
                                          "addr_mode_2"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](const char* word) { return f.has(word); });
}
bool of_multimem(const Form& f) { return one_of(f, {Opcode::op_multimem, Opcode::op_fabric}); }
bool of_im2col(const Form& f) {
  return f.opcode == Opcode::op_cp &&
         std::any_of(f.modifiers.begin(), f.modifiers.end(),
                     [](const std::string& m) { return m.rfind("im2col", 0) == 0; });
}
bool of_scalar_video(const Form& f) {
  return one_of(
      f, {Opcode::op_vadd, Opcode::op_vsub, Opcode::op_vabsdiff, Opcode::op_vmin, Opcode::op_vmax,
          Opcode::op_vset, Opcode::op_vmad, Opcode::op_vshl, Opcode::op_vshr});
}
bool of_discard(const Form& f) { return f.opcode == Opcode::op_discard; }
bool of_later_chips(const Form& f) {
  static constexpr const char* words[] = {"tile::gather4", "tile::scatter4", "cta_group::1",
                                          "cta_group::2",  "cp_mask",        "bulk"};
  if (f.opcode == Opcode::op_clusterlaunchcontrol) return true;
  if (f.opcode != Opcode::op_cp && f.opcode != Opcode::op_st) return false;
  return std::any_of(std::begin(words), std::end(words), [&](const char* word) {
    return f.has(word) && (std::string_view(word) != "bulk" || f.opcode == Opcode::op_st);
  });
}

constexpr Exclusion table[] = {
    {"cube and multi-sample textures, formatted surface stores, queries of formats and samplers",
     "no launch plan binds such, and the codes of formats stand nowhere", of_textures},
    {"multimem", "it reaches several devices", of_multimem},
    {"discard", "memory could hold anything after it", of_discard},
    {"im2col tensor copies", "launch plans have no such maps", of_im2col},
    {"scalar video instructions and the selectors of packed ones", "no compiler emits them",
     of_scalar_video},
    {"calls through pointers", "whom they reach cannot be told before", nullptr},
    {"%pm and all of %envreg but the grid's barrier", "the driver sets them", nullptr},
    {"what needs sm_100",
     "gather4, cta_group, st.bulk, cluster launch control: no modelled chip has them",
     of_later_chips},
};

}  // namespace

std::span<const Exclusion> exclusions() { return table; }

const Exclusion* exclusion_of(const Form& form) {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](const Exclusion& row) {
    return row.covers != nullptr && row.covers(form);
  });
  return found == std::end(table) ? nullptr : found;
}

std::string exclusions_text() {
  std::string out;
  for (const Exclusion& row : table)
    out += (out.empty() ? "" : "; ") + std::string(row.what) + " (" + row.why + ")";
  return out;
}

}  // namespace cupilot::ptx
