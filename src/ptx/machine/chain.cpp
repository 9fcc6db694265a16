#include "ptx/machine/chain.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "ptx/syntax/flow.hpp"

namespace cupilot::ptx {
namespace {

using Index = std::uint32_t;

// Instructions of a warp that take as long as a load, other warps issuing meanwhile; and what of a
// wait always shows.
constexpr double covering_instructions = 400;
constexpr double least_wait = 0.1;
// A branch over so few instructions becomes predicates: what it skips runs with what surrounds it.
constexpr Index most_predicated = 8;

bool ends_block(Opcode opcode) {
  return opcode == Opcode::op_bra || opcode == Opcode::op_brx || opcode == Opcode::op_ret ||
         opcode == Opcode::op_exit || opcode == Opcode::op_trap;
}

// A body's straight runs, and where each may lead.
struct Body {
  const Module& module;
  const Function& function;
  std::vector<Index> first;                // instruction of each block; one more at the end
  std::vector<std::vector<Index>> before;  // blocks that lead to each
  std::vector<Index> dominator;

  Body(const Module& m, const Function& f) : module(m), function(f) {
    find_blocks();
    find_edges();
    find_dominators();
    find_loops();
    find_straight();
  }
  std::size_t blocks() const { return first.size() - 1; }
  // True if the assembler makes one straight run of the block and the one behind it.
  bool runs_on(Index b) const { return straight_[b] != 0; }
  // The nearest block that dominates `b` and lies in no loop that `b` has left.
  Index before_loops(Index b) const {
    Index over = dominator[b];
    for (Index loop = loop_of_[over]; loop != none_index && loop != 0 && !contains(loop, b);
         loop = loop_of_[over])
      over = dominator[loop];
    return over;
  }
  Opcode opcode(Index i) const { return module.form(function.instructions[i]).opcode; }

 private:
  std::vector<Index> targets(Index i) const {
    std::vector<Index> all;
    const Instruction& ins = function.instructions[i];
    for (Index o = ins.first_operand; o < ins.first_operand + ins.operand_count; ++o) {
      const Operand& operand = function.operands[o];
      if (operand.kind == OperandKind::label) all.push_back(operand.index);
      if (operand.kind == OperandKind::table) {
        const std::vector<Index>& listed = function.tables[operand.index].targets;
        all.insert(all.end(), listed.begin(), listed.end());
      }
    }
    return all;
  }

  void find_blocks() {
    const auto size = static_cast<Index>(function.instructions.size());
    std::vector<char> leads(size + 1, 0);
    leads[0] = leads[size] = 1;
    for (Index i = 0; i < size; ++i) {
      if (!ends_block(opcode(i))) continue;
      leads[i + 1] = 1;
      for (const Index t : targets(i)) leads[std::min(t, size)] = 1;
    }
    for (Index i = 0; i <= size; ++i) {
      if (leads[i] != 0) first.push_back(i);
    }
  }

  Index block_at(Index instruction) const {
    return static_cast<Index>(std::upper_bound(first.begin(), first.end(), instruction) -
                              first.begin() - 1);
  }

  void find_edges() {
    before.resize(blocks());
    for (Index b = 0; b < blocks(); ++b) {
      const Index last = first[b + 1] - 1;
      const Opcode end = opcode(last);
      const bool falls = !ends_block(end) || function.instructions[last].guard != none_index;
      if (falls && b + 1 < blocks()) before[b + 1].push_back(b);
      if (end != Opcode::op_bra && end != Opcode::op_brx) continue;
      for (const Index t : targets(last)) {
        if (t < first.back()) before[block_at(t)].push_back(b);
      }
    }
  }

  // Post-dominators of the flow turned around.
  void find_dominators() {
    const auto n = static_cast<Index>(blocks());
    std::vector<std::vector<Index>> turned(n);
    for (Index b = 0; b < n; ++b) {
      for (const Index p : before[b]) turned[n - 1 - b].push_back(n - 1 - p);
    }
    const std::vector<Index> found = post_dominators(turned);
    dominator.resize(n);
    for (Index b = 0; b < n; ++b) dominator[b] = n - 1 - found[n - 1 - b];
  }

  bool dominates(Index over, Index b) const {
    while (b != over && dominator[b] != b) b = dominator[b];
    return b == over;
  }
  bool contains(Index loop, Index b) const {
    Index one = loop_of_[b];
    while (one != none_index && one != loop) one = outer_[one];
    return one == loop;
  }

  // Loops by the block that they are entered at, inner ones before those around them.
  void find_loops() {
    const auto n = static_cast<Index>(blocks());
    loop_of_.assign(n, none_index);
    outer_.assign(n, none_index);
    std::vector<Index> depth(n, 0), heads;
    std::vector<std::vector<Index>> back(n);
    for (Index b = 0; b < n; ++b) {
      for (Index d = b; dominator[d] != d; d = dominator[d]) ++depth[b];
      for (const Index p : before[b]) {
        if (dominates(b, p)) back[b].push_back(p);
      }
      if (!back[b].empty()) heads.push_back(b);
    }
    std::stable_sort(heads.begin(), heads.end(),
                     [&](Index a, Index b) { return depth[a] > depth[b]; });
    for (const Index head : heads) {
      loop_of_[head] = head;
      gather_loop(head, std::move(back[head]));
    }
  }

  // Takes into a loop what leads to `open`, blocks that lead back to its head.
  void gather_loop(Index head, std::vector<Index> open) {
    while (!open.empty()) {
      Index b = open.back();
      open.pop_back();
      if (loop_of_[b] == none_index) {
        loop_of_[b] = head;
      } else {
        b = loop_of_[b];
        while (outer_[b] != none_index) b = outer_[b];
        if (b == head) continue;
        outer_[b] = head;
      }
      open.insert(open.end(), before[b].begin(), before[b].end());
    }
  }

  // Blocks [b, meet) are left and entered by `b` and `meet` alone.
  bool closed(Index b, Index meet) const {
    for (Index inner = b + 1; inner < meet; ++inner) {
      for (const Index p : before[inner]) {
        if (p < b || p >= meet) return false;
      }
    }
    return true;
  }

  Index work(Index from, Index to) const {
    Index count = 0;
    for (Index i = first[from]; i < first[to]; ++i) count += ends_block(opcode(i)) ? 0 : 1;
    return count;
  }

  // Finds branches that are predicated: little lies before their ways meet again.
  void find_straight() {
    const auto n = static_cast<Index>(blocks());
    std::vector<std::vector<Index>> after(n + 1);
    for (Index b = 0; b < n; ++b) {
      for (const Index p : before[b]) after[p].push_back(b);
    }
    for (Index b = 0; b < n; ++b) {
      if (after[b].empty()) after[b].push_back(n);
    }
    const std::vector<Index> meets = post_dominators(after);
    straight_.assign(n, 0);
    for (Index b = 0; b < n; ++b) {
      const Index meet = meets[b];
      if (after[b].size() < 2 || meet <= b + 1 || meet >= n || !closed(b, meet)) continue;
      if (work(b + 1, meet) > most_predicated) continue;
      std::fill(straight_.begin() + b, straight_.begin() + meet, 1);
    }
  }

  std::vector<char> straight_;
  std::vector<Index> loop_of_, outer_;  // the innermost loop of a block, the next around a loop
};

// Registers that an instruction reads and writes.
struct Touched {
  std::vector<Index> read, written;
};

void add_registers(const Function& function, const Operand& operand, std::vector<Index>& to,
                   std::vector<Index>& read) {
  if (operand.kind == OperandKind::reg) to.push_back(operand.index);
  if (operand.kind == OperandKind::address) {
    if (operand.base == OperandKind::reg) read.push_back(operand.index);
    for (Index c = 0; c < operand.count; ++c)
      add_registers(function, function.operands[operand.coordinates + c], read, read);
  }
  if (operand.kind != OperandKind::vector) return;
  for (Index p = 0; p < operand.count; ++p)
    add_registers(function, function.operands[operand.index + p], to, read);
}

bool writes_first(Opcode opcode) {
  return opcode != Opcode::op_st && opcode != Opcode::op_red && opcode != Opcode::op_bra &&
         opcode != Opcode::op_bar && opcode != Opcode::op_barrier && opcode != Opcode::op_cp &&
         opcode != Opcode::op_stmatrix && opcode != Opcode::op_wgmma;
}

Touched touched(const Body& body, Index i) {
  const Instruction& ins = body.function.instructions[i];
  Touched all;
  for (Index o = 0; o < ins.operand_count; ++o) {
    const bool written = o == 0 && writes_first(body.opcode(i));
    add_registers(body.function, body.function.operands[ins.first_operand + o],
                  written ? all.written : all.read, all.read);
  }
  if (ins.guard != none_index) all.read.push_back(ins.guard);
  return all;
}

bool is_global(const Form& form) {
  return form.space == Space::global || form.space == Space::generic;
}

bool loads(const Form& form) {
  return (form.opcode == Opcode::op_ld || form.opcode == Opcode::op_atom) && is_global(form);
}

// The assembler moves no load from global memory above it.
bool bars(const Form& form) {
  switch (form.opcode) {
    case Opcode::op_st:
      return is_global(form);
    case Opcode::op_ld:
      return form.has("volatile") || form.has("acquire") || form.has("relaxed");
    case Opcode::op_call:
    case Opcode::op_atom:
    case Opcode::op_red:
    case Opcode::op_bar:
    case Opcode::op_barrier:
    case Opcode::op_membar:
    case Opcode::op_fence:
    case Opcode::op_cp:
    case Opcode::op_mbarrier:
    case Opcode::op_wgmma:
      return true;
    default:
      return false;
  }
}

// Waits for what the warp stored before.
bool orders(const Form& form) {
  return form.opcode == Opcode::op_membar ||
         (form.opcode == Opcode::op_fence && (form.has("gpu") || form.has("sys")));
}

class Passes {
 public:
  Passes(const Body& body, const std::vector<double>& issued) : body_(body), issued_(issued) {
    sum_.resize(issued.size() + 1, 0);
    for (std::size_t i = 0; i < issued.size(); ++i) sum_[i + 1] = sum_[i] + issued[i];
  }

  // Waits of a pass through a block and those that run on from it.
  double of(Index block) const {
    Index end = block + 1;
    while (body_.runs_on(end - 1)) ++end;
    double waits = 0;
    std::set<Index> pending, early;
    Index last_load = none_index;
    const auto close = [&](Index by) {
      waits += std::max(least_wait, 1 - between(last_load, by, block) / covering_instructions);
      pending.clear();
    };
    for (Index i = body_.first[block]; i < body_.first[end]; ++i) {
      if (issued_[i] == 0) continue;
      const Form& form = body_.module.form(body_.function.instructions[i]);
      const Touched regs = touched(body_, i);
      if (needs(regs, pending)) {
        hoist(i, body_.first[end], pending, early);
        close(i);
      }
      if (orders(form)) ++waits;
      if (!loads(form) || early.count(i) != 0) continue;
      pending.insert(regs.written.begin(), regs.written.end());
      last_load = i;
    }
    if (!pending.empty()) close(first_use(pending, body_.first[end]));
    return waits;
  }

 private:
  // Adds the loads of [from, to) that the assembler moves above what needs `pending`: their
  // addresses come of no load, and no branch that they stand under does.
  void hoist(Index from, Index to, std::set<Index> pending, std::set<Index>& early) const {
    for (Index i = from; i < to; ++i) {
      const Form& form = body_.module.form(body_.function.instructions[i]);
      if (bars(form)) return;
      const Touched regs = touched(body_, i);
      const bool late = needs(regs, pending);
      if (late && ends_block(form.opcode)) return;
      if (!late && loads(form)) early.insert(i);
      const bool always = body_.function.instructions[i].guard == none_index;
      for (const Index r : regs.written) {
        if (late || loads(form)) {
          pending.insert(r);
        } else if (always) {
          pending.erase(r);
        }
      }
    }
  }

  // Instructions that a warp issues after `load` before `until`, a pass through the load's block.
  double between(Index load, Index until, Index block) const {
    const double passes = issued_[body_.first[block]];
    return passes > 0 && until > load + 1 ? (sum_[until] - sum_[load + 1]) / passes : 0;
  }

  static bool needs(const Touched& regs, const std::set<Index>& pending) {
    return std::any_of(regs.read.begin(), regs.read.end(),
                       [&](Index r) { return pending.count(r) != 0; });
  }

  // From `from` on: the first that needs what is pending, or loads again. The end of the body,
  // where none does.
  Index first_use(const std::set<Index>& pending, Index from) const {
    for (Index i = from; i < body_.first.back(); ++i) {
      if (issued_[i] == 0) continue;
      if (loads(body_.module.form(body_.function.instructions[i])) ||
          needs(touched(body_, i), pending))
        return i;
    }
    return body_.first.back();
  }

  const Body& body_;
  const std::vector<double>& issued_;
  std::vector<double> sum_;
};

// Passes of the longest way for each through the block above, from the average. An eighth to two
// thirds are some of the warps each time, as threads of a slab are; less is all of them now and
// then, as ends of tiles are.
double longest_share(double average) { return average >= 0.12 && average < 0.67 ? 1 : average; }

// Blocks that were issued, each after what dominates it, with the warps that came to it: as many as
// came to all before it.
struct Reached {
  std::vector<Index> order{0};
  std::vector<double> warps, times;  // times: that the longest way passes through

  Reached(const Body& body, const std::vector<double>& issued, bool products)
      : warps(body.blocks(), 0), times(body.blocks(), 1) {
    std::vector<std::vector<Index>> below(body.blocks());
    for (Index b = 1; b < body.blocks(); ++b) {
      if (body.dominator[b] != b) below[body.dominator[b]].push_back(b);
    }
    warps[0] = issued[0];
    const auto average = [&](Index b) { return issued[body.first[b]] / warps[b]; };
    for (std::size_t at = 0; at < order.size(); ++at) {
      const Index over = order[at];
      for (const Index b : below[over]) {
        warps[b] = std::min(issued[body.first[b]], warps[over]);
        if (warps[b] == 0) continue;
        const Index outside = products ? over : body.before_loops(b);
        times[b] = times[outside] * longest_share(average(b) / average(outside));
        order.push_back(b);
      }
    }
  }
};

// Returns the longest way: blocks that a block dominates and all of its warps reach follow one
// another; of those that only some reach, the longest is on the way.
double longest(const Body& body, const std::vector<double>& issued, bool products) {
  if (issued[0] == 0) return 0;
  const Passes passes(body, issued);
  const Reached reached(body, issued, products);
  std::vector<double> waits(body.blocks(), 0), of_some(body.blocks(), 0);
  for (auto it = reached.order.rbegin(); it != reached.order.rend(); ++it) {
    const Index b = *it;
    const bool passed = b > 0 && body.runs_on(b - 1);
    waits[b] += of_some[b] + (passed ? 0 : reached.times[b] * passes.of(b));
    if (b == 0) break;
    const Index over = body.dominator[b];
    if (reached.warps[b] >= reached.warps[over]) {
      waits[over] += waits[b];
    } else {
      of_some[over] = std::max(of_some[over], waits[b]);
    }
  }
  return waits[0];
}

// True for a text that multiplies matrices: what follows a loop of a few copies of their operands
// waits once a pass of it, as the time model's constants for them were set with.
bool is_product(const Module& module, const Function& text, const std::vector<double>& issued) {
  constexpr double products_a_load = 20;
  double products = 0, loaded = 0;
  for (std::size_t i = 0; i < issued.size(); ++i) {
    if (issued[i] == 0) continue;
    const Form& form = module.form(text.instructions[i]);
    if (form.opcode == Opcode::op_mma || form.opcode == Opcode::op_wmma ||
        form.opcode == Opcode::op_wgmma)
      return true;
    if (form.opcode == Opcode::op_fma) products += issued[i];
    if (loads(form) || form.opcode == Opcode::op_cp) loaded += issued[i];
  }
  return products > products_a_load * loaded;
}

}  // namespace

void add(Chain& to, const Chain& more, double times) {
  to.waits += more.waits * times;
  to.fills += more.fills * times;
  to.mbarriers += more.mbarriers * times;
  to.text += more.text * times;
}

void keep_longest(Chain& chain, const Chain& other) {
  if (other.waits >= chain.waits) chain = other;
}

Chain chain_of(const Module& module, std::uint32_t function, std::span<const LineCount> lines,
               double blocks) {
  const Function& text = module.functions[function];
  if (text.instructions.empty() || lines.empty()) return {};
  std::vector<double> issued(text.instructions.size(), 0);
  double fills = 0, mbarriers = 0, sum = 0, squares = 0;
  for (const LineCount& line : lines) {
    if (line.function != function) continue;
    const auto warps = static_cast<double>(line.warps);
    issued[line.instruction] = warps;
    sum += warps;
    squares += warps * warps;
    const Form& form = module.form(text.instructions[line.instruction]);
    if (form.opcode != Opcode::op_mbarrier || form.modifiers.empty()) continue;
    if (form.has("expect_tx")) fills += static_cast<double>(line.threads);
    if (form.modifiers[0] == "init") mbarriers += static_cast<double>(line.threads);
  }
  const Body body(module, text);
  Chain chain;
  chain.waits = longest(body, issued, is_product(module, text, issued));
  chain.fills = fills / std::max(1.0, blocks);
  chain.mbarriers = mbarriers / std::max(1.0, blocks);
  chain.text = squares > 0 ? sum * sum / squares : 0;
  return chain;
}

}  // namespace cupilot::ptx
