#include <cupilot/parts/rejection.hpp>

#include <cassert>
#include <utility>

namespace cupilot {
namespace {

constexpr RejectionCode table[] = {
    {"write.uncovered", Stage::write, "no writer can realise a technique of the strategy"},
    {"write.failed", Stage::write, "the writer gave no usable kernel"},
    {"write.unreadable", Stage::write, "a model's answers could not be read"},
    {"plan.expression", Stage::write, "an expression of the launch plan has no value"},
    {"plan.limit", Stage::write, "the launch passes a limit of the device"},
    {"plan.name", Stage::write, "the launch plan names something that does not exist"},
    {"gate.source_size", Stage::gate, "the source passes a size or nesting cap"},
    {"gate.include", Stage::gate, "the source includes a file outside the allow-list"},
    {"gate.ptx_syntax", Stage::gate, "the PTX cannot be parsed"},
    {"gate.extra_entry", Stage::gate, "the PTX holds a kernel the plan does not name"},
    {"gate.missing_entry", Stage::gate, "the PTX lacks a kernel the plan names"},
    {"gate.parameters", Stage::gate,
     "a kernel's parameters differ from the plan's arguments in count, size or alignment"},
    {"gate.extern", Stage::gate, "the PTX needs an external function"},
    {"gate.state", Stage::gate, "code writes a module variable, which would survive a launch"},
    {"gate.forbidden", Stage::gate, "the PTX uses a forbidden instruction"},
    {"gate.size", Stage::gate, "static memory passes its cap"},
    {"gate.launch_bounds", Stage::gate, "a launch directive contradicts the plan"},
    {"gate.precision", Stage::gate, "the arithmetic is of a lower class than the contract"},
    {"gate.duplicate", Stage::gate, "the same PTX was evaluated before"},
    {"compile.error", Stage::compile, "the compiler refused the source"},
    {"compile.crash", Stage::compile, "the compiler died on the source"},
    {"compile.timeout", Stage::compile, "compiling passed its deadline"},
    {"compile.memory", Stage::compile, "compiling passed its memory limit"},
    {"compile.output_size", Stage::compile, "PTX, cubin or log passes its cap"},
    {"compile.serialised", Stage::compile,
     "the assembler reported a pipeline it had to serialise or a directive it ignored"},
    {"load.failed", Stage::load, "the driver refuses the image: PTX for another architecture, say"},
    {"load.resources", Stage::load,
     "the kernel needs more registers or shared memory than a block may have"},
    {"run.launch", Stage::run, "the launch was refused"},
    {"run.out_of_bounds", Stage::run, "an access outside every buffer"},
    {"run.misaligned", Stage::run, "an access not aligned to its size"},
    {"run.input_write", Stage::run, "a write to an input"},
    {"run.guard", Stage::run, "bytes outside a buffer were changed"},
    {"run.uninitialised", Stage::run, "a read of memory nobody wrote"},
    {"run.race", Stage::run,
     "two threads touch one address without a barrier between, one of them writing"},
    {"run.divergence", Stage::run,
     "a barrier or warp-wide instruction that not all its threads reach"},
    {"run.hang", Stage::run, "no end within the deadline, or a wait for what never comes"},
    {"run.trap", Stage::run, "the kernel trapped"},
    {"run.crash", Stage::run, "the device process died or reported a sticky error"},
    {"run.state", Stage::run, "a buffer promised restored was not"},
    {"run.unsupported", Stage::run, "the virtual device does not know an instruction"},
    {"verify.never_written", Stage::verify, "output elements were never written"},
    {"verify.bound", Stage::verify,
     "an output differs from the reference by more than its error bound"},
    {"verify.mismatch", Stage::verify, "an output that must be equal is not"},
    {"verify.nondeterministic", Stage::verify,
     "equal runs gave different bits where that is not allowed"},
    {"verify.no_shape", Stage::verify, "the kernel is not meant for the shapes of the task"},
    {"verify.precision", Stage::verify, "an exactness probe shows a lower class than the contract"},
    {"floor.impossible", Stage::floor, "the time lies below the physical floor"},
    {"floor.banned", Stage::floor, "the kernel was quarantined before"},
    {"measure.failed", Stage::measure, "no valid time could be had"},
    {"measure.timed_launch", Stage::measure, "a timed launch gave wrong output"},
    {"confirm.failed", Stage::confirm, "the finalist failed in a fresh process with new seeds"},
    {"verify.relation", Stage::verify,
     "an output did not follow a change of the inputs whose effect is exact"},
    {"run.assert", Stage::run, "an assertion of the kernel failed"},
    {"run.budget", Stage::run,
     "the virtual device's instruction budget ended first: too expensive to check there, or "
     "endless"},
    {"verify.never_read", Stage::verify,
     "the blocks of a grid leave a part of an input unread that the result needs"},
    {"verify.judge", Stage::verify, "the calling program's own judge refused an output"},
};

}  // namespace

std::span<const RejectionCode> rejection_codes() { return table; }

Rejected reject(std::string_view code, std::string message, std::string where) {
  for (const RejectionCode& row : table) {
    if (row.code == code)
      return {row.stage, std::string(code), std::move(message), std::move(where)};
  }
  assert(false && "a rejection code outside the table");
  return {Stage::write, std::string(code), std::move(message), std::move(where)};
}

std::string_view name_of(Stage stage) {
  static constexpr std::string_view names[] = {"write",  "gate",  "compile", "load",   "run",
                                               "verify", "floor", "measure", "confirm"};
  return names[static_cast<int>(stage)];
}

}  // namespace cupilot
