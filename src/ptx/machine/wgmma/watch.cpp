// Watches instructions other than wgmma that touch the registers of a product: they check first
// that no product still uses them, and note what they wrote.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "ptx/machine/decode.hpp"
#include "ptx/machine/memory.hpp"
#include "ptx/machine/wgmma/wgmma.hpp"
#include "ptx/syntax/dataflow.hpp"

namespace cupilot::ptx {
namespace {

using u32 = std::uint32_t;

// A plain copy of a sum that is not there yet (late mode) takes place when it is. False: it is.
bool follow(const Warp& w, Products& p, const Watched& watched) {
  const RegisterUse from = p.use[watched.reads[0] / 64];
  p.use[watched.writes[0] / 64] = from;
  if (!w.block->launch->options->late) return false;
  const GroupItem copy{nullptr, 0, 0, false, watched.reads[0], watched.writes[0], {}, w.regs};
  if (from.group > p.committed) {
    p.open.push_back(copy);
  } else {
    p.groups[from.group - 1 - p.completed].push_back(copy);
  }
  return true;
}

void run_watched(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const Watched& watched = w.code->watched[w.code->watch_of[s.instruction]];
  if (w.mask == 0) return watched.run(l, s);
  Products& p = products_of(w);
  const bool copies = watched.copies && w.mask == full_mask && pending(p, watched.reads[0]);
  for (const auto* slots : {&watched.reads, &watched.writes}) {
    for (const u32 slot : *slots) {
      if (!pending(p, slot) || (copies && slots == &watched.reads)) continue;
      fault(w, s, first_lane(w.mask), "run.race",
            fmt::format("{} a register of a wgmma that has not been waited for (wgmma.wait_group)",
                        slots == &watched.reads ? "reads" : "writes"));
      return;
    }
  }
  if (copies) {
    if (!follow(w, p, watched)) watched.run(l, s);
    return;
  }
  // Compilers put plain moves wherever they like, and ptxas orders them; only what they copy
  // counts.
  const bool dirty = !watched.moves || (watched.copies && p.use[watched.reads[0] / 64].dirty);
  for (const u32 slot : watched.writes) p.use[slot / 64].dirty = dirty;
  watched.run(l, s);
}

// True if the first operand is a result.
bool has_result(const Form& form) {
  switch (form.opcode) {
    case Opcode::op_st:
    case Opcode::op_red:
    case Opcode::op_stmatrix:
    case Opcode::op_bar:
    case Opcode::op_barrier:
    case Opcode::op_cp:
    case Opcode::op_bra:
    case Opcode::op_call:
      return false;
    default:
      return !form.has("store");
  }
}

}  // namespace

void watch_registers(Decoder& d) {
  Code& code = d.code;
  if (code.product_slots.empty()) return;
  const std::unordered_set<u32> slots(code.product_slots.begin(), code.product_slots.end());
  code.watch_of.assign(code.steps.size(), none_index);
  for (u32 i = 0; i < d.function.instructions.size(); ++i) {
    const Instruction& ins = d.function.instructions[i];
    const Form& form = d.module.form(ins);
    if (form.opcode == Opcode::op_wgmma) continue;
    Watched watched;
    for (u32 o = 0; o < ins.operand_count; ++o) {
      std::vector<u32>& into = o == 0 && has_result(form) ? watched.writes : watched.reads;
      each_register(d.function, d.function.operands[ins.first_operand + o], [&](u32 reg) {
        if (slots.count(d.slot_of(reg)) != 0) into.push_back(d.slot_of(reg));
      });
    }
    if (watched.reads.empty() && watched.writes.empty()) continue;
    Step& step = code.steps[i];
    const Operand& from = d.function.operands[ins.first_operand + (ins.operand_count > 1 ? 1 : 0)];
    watched.moves = form.opcode == Opcode::op_mov;
    watched.copies = watched.moves && watched.reads.size() == 1 && watched.writes.size() == 1 &&
                     from.kind == OperandKind::reg;
    watched.run = step.run;
    step.run = run_watched;
    code.watch_of[i] = static_cast<u32>(code.watched.size());
    code.watched.push_back(std::move(watched));
  }
}

}  // namespace cupilot::ptx
