// Calls of functions, and local memory that is taken while a thread runs.
#include "ptx/machine/decode.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/memory.hpp"
#include "ptx/syntax/system_call.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 max_depth = 64;
constexpr u32 max_lane_bytes = 128u << 10, max_frames = 16u << 20;

// list: pairs (caller's place, callee's place, bytes), arguments first, then results.
void copy_values(Warp& w, const Step& s, bool arguments, u32 caller_at, u32 callee_at, u32 mask) {
  const u32 begin = arguments ? 0 : s.o[0], end = arguments ? s.o[0] : s.o[1];
  for (u32 k = begin; k < end; ++k) {
    const u32 *triple = s.list + 3 * k, bytes = triple[2];
    for (u32 rest = mask; rest != 0; rest &= rest - 1) {
      const std::size_t base = std::size_t{first_lane(rest)} * w.local_stride;
      const std::size_t caller = base + caller_at + triple[0],
                        callee = base + callee_at + triple[1];
      const std::size_t from = arguments ? caller : callee, to = arguments ? callee : caller;
      std::memcpy(w.local.data() + to, w.local.data() + from, bytes);
      std::memcpy(w.local_written.data() + to, w.local_written.data() + from, bytes);
    }
  }
}

void grow_local(Warp& w, u32 need) {
  if (need <= w.local_stride) return;
  const u32 stride = std::max(need, 2 * w.local_stride);
  std::vector<std::uint8_t> data(std::size_t{stride} * 32), written(std::size_t{stride} * 32);
  for (u32 lane = 0; lane < 32; ++lane) {
    std::copy_n(w.local.begin() + lane * std::ptrdiff_t{w.local_stride}, w.local_stride,
                data.begin() + lane * std::ptrdiff_t{stride});
    std::copy_n(w.local_written.begin() + lane * std::ptrdiff_t{w.local_stride}, w.local_stride,
                written.begin() + lane * std::ptrdiff_t{stride});
  }
  w.local = std::move(data);
  w.local_written = std::move(written);
  w.local_stride = stride;
}

void run_call(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0) return;
  if (w.depth + 1 >= max_depth) {
    fault(w, s, first_lane(w.mask), "run.unsupported",
          fmt::format("calls nest deeper than {}", max_depth));
    return;
  }
  const u32 caller_at = w.frames[w.depth].local_at, callee_at = w.local_top;
  const Code& callee = w.block->program->codes[s.aux];
  if (callee_at + callee.lane_bytes > max_lane_bytes ||
      w.frames_bytes + callee.frame_bytes > max_frames) {
    fault(w, s, first_lane(w.mask), "run.out_of_bounds",
          "the thread's stack passes 128 KiB, or its calls too many registers");
    return;
  }
  grow_local(w, callee_at + callee.lane_bytes);
  for (u32 lane = 0; lane < 32; ++lane) {
    if (((w.mask >> lane) & 1) != 0) {
      std::memset(w.local_written.data() + std::size_t{lane} * w.local_stride + callee_at, 0,
                  callee.lane_bytes);
    }
  }
  copy_values(w, s, true, caller_at, callee_at, w.mask);
  // Lanes that skip the call wait after it.
  push(w, s, {w.pc, w.reconverge, w.active});
  const u32 return_pc = w.pc;
  const u32 called = w.mask;
  enter_frame(w, s.aux, w.depth + 1);
  Frame& frame = w.frames[w.depth];
  frame.return_pc = return_pc;
  frame.mask = called;
  frame.call = &s;
  frame.stack_base = static_cast<u32>(w.stack.size());
  frame.local_at = callee_at;
  w.local_top = callee_at + callee.lane_bytes;
  w.pc = 0;
  w.reconverge = static_cast<u32>(callee.steps.size() - 1);
  w.active = called;
}

// Nothing of it was written yet.
void forget_local(Warp& w, u32 mask, u32 at, u32 bytes) {
  for (u32 rest = mask; rest != 0; rest &= rest - 1)
    std::memset(w.local_written.data() + std::size_t{first_lane(rest)} * w.local_stride + at, 0,
                bytes);
}

// alloca d, size, align: every lane's memory starts at the same offset and is as long as the
// longest.
void take_stack(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  u64 bytes = 0;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    u64 size = 0;
    std::memcpy(&size, w.regs + s.o[1] + first_lane(rest) * s.width, s.width);
    bytes = std::max(bytes, size);
  }
  if (w.mask == 0) return;
  const u64 at = (u64{w.local_top} + s.aux - 1) / s.aux * s.aux;
  if (bytes > max_lane_bytes || at + bytes > max_lane_bytes)
    return fault(w, s, first_lane(w.mask), "run.out_of_bounds",
                 fmt::format("alloca of {} bytes: the thread's stack passes 128 KiB", bytes));
  const auto top = static_cast<u32>((at + bytes + 15) / 16 * 16);
  grow_local(w, top);
  forget_local(w, w.mask, w.local_top, top - w.local_top);
  w.local_top = top;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1)
    std::memcpy(w.regs + s.o[0] + first_lane(rest) * s.width, &at, s.width);
}

void save_stack(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const u64 top = w.local_top;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1)
    std::memcpy(w.regs + s.o[0] + first_lane(rest) * s.width, &top, s.width);
}

// Only when all lanes give their memory back: others may still use what lies above.
void restore_stack(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const u32 here = w.depth == 0 ? w.live : w.frames[w.depth].mask & w.live;
  if (w.mask == 0 || w.mask != here) return;
  u64 top = 0;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    u64 mine = 0;
    std::memcpy(&mine, w.regs + s.o[0] + first_lane(rest) * s.width, s.width);
    top = std::max(top, mine);
  }
  const u32 least = w.frames[w.depth].local_at + w.code->lane_bytes;
  if (top >= least && top < w.local_top) w.local_top = static_cast<u32>(top);
}

}  // namespace

namespace {

// The text at a generic address, as far as memory holds it.
std::string text_at(const Warp& w, u64 address) {
  constexpr std::size_t most = 300;
  std::string text;
  for (; text.size() < most; ++address) {
    const Buffer* buffer = w.block->program->constants.find(address, 1);
    const u8* data = buffer != nullptr ? buffer->data.get() : nullptr;
    if (data == nullptr) return text.empty() ? "?" : text;
    const u8 c = data[address - buffer->address];
    if (c == 0) return text;
    text += c < 0x20 ? ' ' : static_cast<char>(c);
  }
  return text + "…";
}

u64 argument_of(const Warp& w, const Step& s, u32 index, u32 lane) {
  u64 value = 0;
  const std::size_t at =
      std::size_t{lane} * w.local_stride + w.frames[w.depth].local_at + s.list[3 * index];
  std::memcpy(&value, w.local.data() + at, std::min(s.list[3 * index + 2], 8u));
  return value;
}

// __assertfail(message, file, line, function, character size)
void run_assertion(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0) return;
  const u32 lane = first_lane(w.mask);
  fault(w, s, lane, "run.assert",
        fmt::format("assertion `{}` failed at {}:{}", text_at(w, argument_of(w, s, 0, lane)),
                    text_at(w, argument_of(w, s, 1, lane)),
                    static_cast<u32>(argument_of(w, s, 2, lane))));
}

// vprintf(format, arguments): nothing is shown, and it says that nothing was.
void run_print(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  const u32* result = s.list + 3 * s.o[0];
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const std::size_t at =
        std::size_t{first_lane(rest)} * w.local_stride + w.frames[w.depth].local_at + result[0];
    std::memset(w.local.data() + at, 0, result[2]);
    std::memset(w.local_written.data() + at, 1, result[2]);
  }
}

}  // namespace

bool decode_call(Decoder& d, Step& step) {
  const Operand& callee = d.operand(1);
  if (callee.kind != OperandKind::function)
    d.refuse("only calls of a named function are supported");
  const Function& f = d.module.functions[callee.index];
  const std::vector<Operand> results = d.parts(d.operand(0)), arguments = d.parts(d.operand(2));
  if (f.is_entry) d.refuse("a kernel cannot be called");
  if (results.size() != f.result_count || arguments.size() != f.parameter_count)
    d.refuse("the call does not fit the function's parameters");
  const SystemCall system = system_call_of(f);
  if (system == SystemCall::none) step.aux = d.code_for(callee.index);
  std::vector<u32> list;
  u32 at = 0;
  std::uint64_t offset = 0;
  std::vector<u32> places;  // of the callee's variables, as its own decoder lays them out
  for (const Variable& v : f.variables) {
    if (v.space == Space::reg) d.refuse("parameters in registers are not supported");
    offset = (offset + std::max(v.align, 1u) - 1) / std::max(v.align, 1u) * std::max(v.align, 1u);
    places.push_back(static_cast<u32>(std::min<std::uint64_t>(offset, 1u << 30)));
    offset += v.bytes;
  }
  const auto add = [&](const Operand& o, u32 variable) {
    if (o.kind != OperandKind::formal) d.refuse("an argument is no parameter variable");
    const Variable& mine = d.function.variables[o.index];
    if (mine.bytes != f.variables[variable].bytes) d.refuse("an argument has the wrong size");
    if (d.function.is_entry && o.index < d.function.parameter_count)
      d.refuse("a kernel parameter as an argument");
    list.insert(list.end(),
                {d.code.variable_offset[o.index], places[variable], static_cast<u32>(mine.bytes)});
    ++at;
  };
  for (u32 i = 0; i < arguments.size(); ++i) add(arguments[i], f.result_count + i);
  step.o[0] = at;
  for (u32 i = 0; i < results.size(); ++i) add(results[i], i);
  step.o[1] = at;
  list.push_back(0);
  step.list = d.list(std::move(list));
  step.run = system == SystemCall::assertion ? run_assertion
             : system == SystemCall::print   ? run_print
                                             : run_call;
  return true;
}

bool decode_stack(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.types.size() != 1 || (form.types[0] != Type::u32 && form.types[0] != Type::u64))
    return false;
  step.width = static_cast<std::uint8_t>(bytes_of(form.types[0]));
  if (form.opcode == Opcode::op_stackrestore) {
    d.want_operands(1, 1);
    step.o[0] = d.source(d.operand(0), step.width);
    step.run = restore_stack;
    return true;
  }
  const bool takes = form.opcode == Opcode::op_alloca;
  d.want_operands(takes ? 2 : 1, takes ? 3 : 1);
  step.o[0] = d.target(d.operand(0), step.width);
  if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
  step.run = takes ? take_stack : save_stack;
  if (!takes) return true;
  step.o[1] = d.source(d.operand(1), step.width);
  step.aux = 8;
  if (d.operand_count() == 3) {
    const Operand& align = d.operand(2);
    const bool fits = align.kind == OperandKind::immediate && align.bits != 0 &&
                      align.bits <= 4096 && (align.bits & (align.bits - 1)) == 0;
    if (!fits) d.refuse("the alignment must be a power of two up to 4096");
    step.aux = static_cast<u32>(align.bits);
  }
  return true;
}

void return_from_call(Warp& w) {
  const Frame& callee = w.frames[w.depth];
  copy_values(w, *callee.call, false, w.frames[w.depth - 1].local_at, callee.local_at,
              callee.mask & ~w.exited);
  w.local_top = callee.local_at;
  --w.depth;
  w.frames_bytes -= w.code->frame_bytes;
  w.code = &w.block->program->codes[w.frames[w.depth].code];
  w.steps = w.code->steps.data();
  w.regs = w.frames[w.depth].regs;
  w.counts = w.block->worker->counts.data() + w.code->first_count;
}

}  // namespace cupilot::ptx
