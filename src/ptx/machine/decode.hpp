// From parsed instructions to steps. Internal.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/machine/machine.hpp"

namespace cupilot::ptx {

// Thrown inside make_program only.
struct Unsupported {
  std::uint32_t line = 0;
  std::string message;
};

// The way in which an access names its memory.
enum MemorySpace : std::uint8_t {
  space_generic,
  space_global,
  space_shared,
  space_local,
  space_param,
  space_constant
};
inline constexpr std::uint8_t space_mask = 7;
inline constexpr std::uint8_t flag_signed = 8;  // sign-extends into the register
inline constexpr std::uint8_t flag_strong =
    16;  // volatile, relaxed, acquire, release, atomic: does not race with its like
inline constexpr std::uint8_t flag_frame = 32;   // offset is relative to the frame's local memory
inline constexpr std::uint8_t flag_narrow = 64;  // the base register has 32 bits
inline constexpr std::uint8_t flag_far =
    128;  // generic, shared: may name the shared memory of other blocks
inline constexpr std::uint8_t flag_read_only =
    128;  // global: ld.nc, memory that nobody writes while the kernel runs
inline constexpr std::uint32_t no_slot = 0xffffffffu;  // a sink

class Decoder {
 public:
  Decoder(Program& owner, Code& out, std::uint32_t function_index);
  void decode();

  Program& program;
  Code& code;
  const Module& module;
  const Function& function;

  // The instruction in work.
  const Form& form() const { return module.forms[instruction_->form]; }
  const Instruction& instruction() const { return *instruction_; }
  std::size_t operand_count() const { return instruction_->operand_count; }
  const Operand& operand(std::size_t i) const;
  std::vector<Operand> parts(const Operand& o) const;  // of a vector; else itself
  [[noreturn]] void refuse(const std::string& why) const;
  void want_operands(std::size_t least, std::size_t greatest) const;

  // Slots. `bytes`: width of a register, 2 to 16.
  std::uint32_t source(const Operand& o, std::uint32_t bytes, bool as_float = false);
  std::uint32_t target(const Operand& o, std::uint32_t bytes);  // no_slot for a sink
  std::uint32_t source_predicate(const Operand& o, bool& inverted);
  std::uint32_t target_predicate(const Operand& o);
  std::uint32_t width_of(const Operand& o) const;  // bytes of a register operand; 0: no register
  std::uint32_t constant(std::uint64_t bits, std::uint32_t bytes);
  // Base slot, offset and flags of an address.
  void address(Step& step, const Operand& o, MemorySpace space, int slot);
  const std::uint32_t* list(std::vector<std::uint32_t> values);
  std::uint32_t code_for(std::uint32_t function_index);
  std::uint32_t slot_of(std::uint32_t register_index) const {
    return register_slot_[register_index];
  }
  std::int64_t variable_address(std::uint32_t variable) const;
  MemorySpace memory_space() const;
  void note_shared_unit(std::uint32_t bytes);
  void note_written_unit(std::uint32_t bytes);  // of a write to global memory

 private:
  std::uint32_t take(std::uint32_t bytes);
  std::uint32_t special_slot(Special special, std::uint32_t bytes);
  void lay_out_variables();
  void lay_out_registers();
  Step decode_one();
  void find_reconvergence();

  const Instruction* instruction_ = nullptr;
  std::vector<std::uint32_t> register_slot_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> constants_;
  std::map<std::pair<Special, std::uint32_t>, std::uint32_t> specials_;
  std::map<std::uint32_t, std::uint32_t> code_of_;
};

// Each fills the step and says true when the form is of its family.
bool decode_arithmetic(Decoder& d, Step& step);
bool decode_move(Decoder& d, Step& step);
bool decode_memory(Decoder& d, Step& step);
bool decode_atomic(Decoder& d, Step& step);
bool decode_async(Decoder& d, Step& step);
bool decode_mbarrier(Decoder& d, Step& step);
bool decode_bulk(Decoder& d, Step& step);
bool decode_texture(Decoder& d, Step& step);
bool decode_tensormap(Decoder& d, Step& step);
bool decode_cluster(Decoder& d, Step& step);
bool decode_collective(Decoder& d, Step& step);
bool decode_control(Decoder& d, Step& step);
bool decode_wmma(Decoder& d, Step& step);
bool decode_wgmma(Decoder& d, Step& step);
bool decode_video(Decoder& d, Step& step);
bool decode_lop3(Decoder& d, Step& step);

// Returns a product of the lanes' tables: "f32.bf16.bf16.k16"; null when there is none.
Multiply product_of(std::string_view name);
// Returns the handler of a row of the lanes' tables; null when there is none.
Handler handler_of(std::string_view form);

// After all steps are decoded: instructions that touch a wgmma's registers are made to say so.
void watch_registers(Decoder& d);

// Returns the work that a form counts for.
Work work_of(const Form& form);

// Handlers that the loop knows by identity.
void run_branch(Lanes& lanes, const Step& step);
void run_leave(Lanes& lanes, const Step& step);
void run_mma(Lanes& lanes, const Step& step);

// Calls and the stack of local memory.
// Lanes that wait for others, taken up again at `entry.pc`.
void push(Warp& warp, const Step& step, StackEntry entry);
bool decode_call(Decoder& d, Step& step);
// alloca, stacksave, stackrestore.
bool decode_stack(Decoder& d, Step& step);

}  // namespace cupilot::ptx
