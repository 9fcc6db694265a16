#include "ptx_operators.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace cupilot::mutation {
namespace {

using Sites = std::vector<Site>;

bool starts_with_any(const Instruction& one, std::span<const std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](auto start) { return one.is(start); });
}

bool orders(const Instruction& one) {
  static constexpr std::array<std::string_view, 13> starts = {"bar.",
                                                              "barrier.",
                                                              "fence.",
                                                              "membar.",
                                                              "mbarrier.",
                                                              "cp.async.wait",
                                                              "cp.async.commit",
                                                              "cp.async.mbarrier",
                                                              "cp.async.bulk.commit",
                                                              "cp.async.bulk.wait",
                                                              "wgmma.fence",
                                                              "wgmma.commit",
                                                              "wgmma.wait"};
  return starts_with_any(one, starts) || one.is("griddepcontrol.");
}

bool is_wait_on_barrier(const Instruction& one) {
  return one.is("mbarrier.try_wait") || one.is("mbarrier.test_wait");
}

// Leaves a value that later code reads.
bool gives(const Instruction& one) {
  if (one.operands.empty()) return false;
  const bool result = one.is("bar.red") || one.is("barrier.cta.red") || one.is("barrier.red") ||
                      one.is("mbarrier.arrive") || one.is("mbarrier.pending") ||
                      is_wait_on_barrier(one);
  return result && one.operands[0] != "_" && one.operands[0].front() != '[';
}

bool touches_memory(const Instruction& one) {
  static constexpr std::array<std::string_view, 9> starts = {
      "st.",      "atom.",    "red.",  "cp.async.c", "cp.async.bulk.",
      "ldmatrix", "stmatrix", "wmma.", "wgmma.mma"};
  return starts_with_any(one, starts) ||
         (one.is("ld.") && !one.has(".param") && !one.has(".const"));
}

Edit remove(const Instruction& one) { return {one.begin, one.end, ""}; }
Edit before(const Instruction& one, std::string text) {
  return {one.begin, one.begin, std::move(text)};
}
Edit after(const Instruction& one, std::string text) { return {one.end, one.end, std::move(text)}; }

Sites drop_order(const PtxText& s) {
  Sites sites;
  for (const Instruction& one : s.instructions()) {
    if (!orders(one)) continue;
    if (is_wait_on_barrier(one))
      sites.push_back(
          {{one.begin, one.end, "setp.eq.u32 " + std::string(one.operands[0]) + ", 0, 0;"}});
    else if (!gives(one))
      sites.push_back({remove(one)});
  }
  return sites;
}

// Past the nearest access of memory in the same straight code.
Sites order_late(const PtxText& s) {
  Sites sites;
  const auto& all = s.instructions();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!orders(all[i]) || gives(all[i])) continue;
    for (std::size_t j = i + 1; j < all.size() && all[j].block == all[i].block; ++j) {
      if (!touches_memory(all[j])) continue;
      sites.push_back({remove(all[i]), after(all[j], " " + s.spelled(all[i]))});
      break;
    }
  }
  return sites;
}

Sites order_early(const PtxText& s) {
  Sites sites;
  const auto& all = s.instructions();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!orders(all[i]) || gives(all[i])) continue;
    for (std::size_t j = i; j-- > 0 && all[j].block == all[i].block;) {
      if (!touches_memory(all[j])) continue;
      sites.push_back({before(all[j], s.spelled(all[i]) + " "), remove(all[i])});
      break;
    }
  }
  return sites;
}

Sites narrow_index(const PtxText& s) {
  static constexpr std::array<std::string_view, 6> wide = {
      "mul.wide.s32", "mul.wide.u32", "mul.lo.s64", "mul.lo.u64", "shl.b64", "add.s64"};
  Sites sites;
  for (const Instruction& one : s.instructions()) {
    if (!starts_with_any(one, wide) || one.operands.empty()) continue;
    // The sum of a pointer and an offset is no index.
    if (one.is("add.s64")) continue;
    const std::string guard = one.guard.empty() ? "" : "@" + std::string(one.guard) + " ";
    const std::string to(one.operands[0]);
    const bool is_signed = one.has(".s32") || one.has(".s64");
    sites.push_back(
        {after(one, " { .reg .b32 %narrow; " + guard + "cvt.u32.u64 %narrow, " + to + "; " + guard +
                        (is_signed ? "cvt.s64.s32 " : "cvt.u64.u32 ") + to + ", %narrow; }")});
  }
  return sites;
}

// Conditional branches back, by place.
std::vector<std::size_t> back_edges(const PtxText& s) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < s.instructions().size(); ++i) {
    const Instruction& one = s.instructions()[i];
    if (!one.is("bra") || one.guard.empty()) continue;
    const auto target = s.target(one);
    if (target && *target <= i) all.push_back(i);
  }
  return all;
}

Sites first_round_only(const PtxText& s) {
  Sites sites;
  for (const std::size_t i : back_edges(s)) sites.push_back({remove(s.instructions()[i])});
  return sites;
}

Sites two_rounds_only(const PtxText& s) {
  Sites sites;
  for (const std::size_t i : back_edges(s)) {
    const Instruction& one = s.instructions()[i];
    sites.push_back(
        {{one.body, one.body, " .reg .b32 %rounds; mov.u32 %rounds, 0; "},
         {one.begin, one.end,
          "{ .reg .pred %more; add.u32 %rounds, %rounds, 1; setp.lt.and.u32 %more, %rounds, 2, " +
              std::string(one.guard) + "; @%more bra " + std::string(one.operands[0]) + "; }"}});
  }
  return sites;
}

// The instruction that gives a register its value last before `from`, not before `to`.
const Instruction* giver(const PtxText& s, std::size_t from, std::size_t to,
                         std::string_view name) {
  for (std::size_t i = from; i-- > to;) {
    const Instruction& one = s.instructions()[i];
    if (!one.operands.empty() && one.operands[0] == name && !one.is("st.") && !one.is("bra"))
      return &one;
  }
  return nullptr;
}

bool is_number(std::string_view text) {
  if (text.starts_with("-")) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A counter that is compared with its end is compared one step ahead.
Sites drop_last_round(const PtxText& s) {
  Sites sites;
  const auto& all = s.instructions();
  for (const std::size_t i : back_edges(s)) {
    const std::size_t head = *s.target(all[i]);
    std::string_view guard = all[i].guard;
    if (guard.starts_with("!")) guard.remove_prefix(1);
    const Instruction* test = giver(s, i, head, guard);
    if (test == nullptr || !test->is("setp.") || test->operands.size() != 3) continue;
    for (const std::size_t side : {1, 2}) {
      const std::string_view counter = test->operands[side];
      const Instruction* step = giver(s, i, head, counter);
      const bool counts = step != nullptr &&
                          (step->opcode == "add.s32" || step->opcode == "add.s64") &&
                          step->operands.size() == 3 && step->begin < test->begin;
      if (!counts || !is_number(step->operands[2])) continue;
      const std::string width = step->opcode == "add.s32" ? "32" : "64";
      const std::string left(side == 1 ? "%ahead" : test->operands[1]);
      const std::string right(side == 2 ? "%ahead" : test->operands[2]);
      sites.push_back(
          {{test->begin, test->end,
            "{ .reg .b" + width + " %ahead; " + std::string(step->opcode) + " %ahead, " +
                std::string(counter) + ", " + std::string(step->operands[2]) + "; " +
                std::string(test->opcode) + " " + std::string(test->operands[0]) + ", " + left +
                ", " + right + "; }"}});
      break;
    }
  }
  return sites;
}

Edit with_opcode(const PtxText& s, const Instruction& one, std::string opcode) {
  const std::size_t at = s.offset_of(one.opcode);
  return {at, at + one.opcode.size(), std::move(opcode)};
}

// One modifier of every instruction that orders or shares.
struct Weaker {
  std::string_view modifier, with;
};
Sites weaken(const PtxText& s, std::span<const Weaker> rows) {
  static constexpr std::array<std::string_view, 8> starts = {
      "fence.", "membar.", "atom.", "red.", "ld.", "st.", "mbarrier.", "barrier.cluster"};
  Sites sites;
  for (const Instruction& one : s.instructions()) {
    if (!starts_with_any(one, starts)) continue;
    for (const Weaker& row : rows) {
      if (!one.has(row.modifier)) continue;
      std::string opcode(one.opcode);
      opcode.replace(opcode.find(row.modifier), row.modifier.size(), row.with);
      sites.push_back({with_opcode(s, one, std::move(opcode))});
      break;
    }
  }
  return sites;
}

Sites narrow_scope(const PtxText& s) {
  static constexpr std::array<Weaker, 4> rows = {
      {{".gpu", ".cta"}, {".sys", ".cta"}, {".cluster", ".cta"}, {".gl", ".cta"}}};
  Sites sites = weaken(s, rows);
  // Without a scope an atomic counts for the whole device.
  for (const Instruction& one : s.instructions()) {
    const bool has_scope =
        one.has(".gpu") || one.has(".sys") || one.has(".cta") || one.has(".cluster");
    if ((!one.is("atom.global") && !one.is("red.global")) || has_scope) continue;
    std::string opcode(one.opcode);
    opcode.insert(opcode.find(".global") + 7, ".cta");
    opcode.insert(opcode.find('.'), ".relaxed");
    // PTX wants order, scope, space.
    const std::size_t space = opcode.find(".global.cta");
    opcode.replace(space, 11, ".cta.global");
    sites.push_back({with_opcode(s, one, std::move(opcode))});
  }
  return sites;
}

Sites relax_order(const PtxText& s) {
  static constexpr std::array<Weaker, 3> rows = {
      {{".acq_rel", ".relaxed"}, {".acquire", ".relaxed"}, {".release", ".relaxed"}}};
  Sites sites = weaken(s, rows);
  std::erase_if(sites, [](const Site& site) { return site[0].with.starts_with("fence."); });
  static constexpr std::array<Weaker, 1> plain = {{{".volatile", ""}}};
  const Sites more = weaken(s, plain);
  sites.insert(sites.end(), more.begin(), more.end());
  return sites;
}

// A wait lets one group more be under way.
Sites wait_less(const PtxText& s) {
  static constexpr std::array<std::string_view, 3> starts = {
      "cp.async.wait_group", "cp.async.bulk.wait_group", "wgmma.wait_group"};
  Sites sites;
  for (const Instruction& one : s.instructions()) {
    if (one.is("cp.async.wait_all"))
      sites.push_back({{one.begin, one.end, "cp.async.wait_group 1;"}});
    if (!starts_with_any(one, starts) || one.operands.empty() || !is_number(one.operands[0]))
      continue;
    const int groups = std::stoi(std::string(one.operands[0])) + 1;
    sites.push_back(
        {{one.begin, one.end, std::string(one.opcode) + " " + std::to_string(groups) + ";"}});
  }
  return sites;
}

constexpr std::array<PtxOperator, 10> all_operators = {{
    {"drop_order", "an instruction that orders is missing", false, drop_order},
    {"order_late", "it stands behind the next access", false, order_late},
    {"order_early", "it stands before the last access", false, order_early},
    {"narrow_index", "an index has 32 bits", true, narrow_index},
    {"first_round_only", "a loop ends after its first round", false, first_round_only},
    {"two_rounds_only", "a loop ends after its second round", false, two_rounds_only},
    {"drop_last_round", "a loop's last round is missing", false, drop_last_round},
    {"narrow_scope", "an order counts for the block alone", false, narrow_scope},
    {"relax_order", "an access orders nothing", false, relax_order},
    {"wait_less", "a wait lets one group more be under way", false, wait_less},
}};

}  // namespace

std::span<const PtxOperator> ptx_operators() { return all_operators; }

}  // namespace cupilot::mutation
