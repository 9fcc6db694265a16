// Runs one launch of a parsed kernel, warp by warp, checking every access and counting the work.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/counts.hpp>
#include <cupilot/result.hpp>

#include "base/stop.hpp"
#include "ptx/machine/device_memory.hpp"
#include "ptx/machine/texture_object.hpp"
#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

// A module made ready to run: decoded once, used for any number of launches. Module variables in
// .global space live here and start from their initialisers at every launch.
class Program;

struct ProgramDeleter {
  void operator()(Program* program) const;
};
using ProgramPtr = std::unique_ptr<Program, ProgramDeleter>;

// Decodes one entry and every function it may call. An instruction that the interpreter lacks is a
// rejection `run.unsupported` that names the form and its line; an operand that does not fit its
// form likewise.
Attempt<ProgramPtr> make_program(std::shared_ptr<const Module> module, std::string_view entry);

struct Launch {
  Dim3 grid, block;
  std::uint32_t dynamic_shared = 0;  // bytes
  std::vector<std::uint8_t>
      parameters;  // the entry's parameter block; a tensor map in it as tensor_map.hpp encodes it
  std::vector<TextureObject> textures{};  // whose handles (texture_object.hpp) parameters hold
  Dim3 cluster{};                         // blocks that run together; 1 x 1 x 1: none asked for
  bool cooperative = false;               // the whole grid must be resident at once
  std::uint32_t registers = 0;            // a thread has at its start; 0: unknown
};

// Byte offset of every parameter in the block and its whole size.
struct ParameterLayout {
  std::vector<std::uint32_t> offsets;
  std::uint32_t bytes = 0;
};
ParameterLayout parameter_layout(const Function& entry);

struct ExecuteOptions {
  std::uint64_t instruction_budget =
      2'000'000'000;  // warp instructions of the launch, 8 for starting a warp; past it: run.budget
  // Draws what a device leaves open: the order of blocks and of the warps in one, whether others
  // come between the strong accesses of a thread (in half of the seeds, where races are looked
  // for), what registers and local memory hold before they are written. 0: ascending, nobody, 0xff.
  std::uint64_t seed = 0;
  bool late = false;        // asynchronous copies move at the last legal moment, not at the first
  bool check_races = true;  // shared and read-write global memory
  bool check_initialised = true;  // shared, local and read-write global memory
  bool count = true;
  // With count: Report::loaded, Report::stored.
  bool note_loads = false, note_stores = false;
  // False: sums of wgmma stay zeros, for counts of kernels whose way does not depend on them.
  bool products = true;
  bool by_instruction =
      false;  // and count memory and divergence instruction by instruction (LineCount)
  std::vector<std::uint64_t> blocks;  // run only these (linear index, x fastest); empty: all
  std::uint32_t threads = 1;          // host threads that blocks are spread over
  bool spread_unchecked = false;      // spread them where no races are looked for, too
  std::uint32_t resident =
      1;  // blocks taken in turn when one does not end by itself; grid barriers need the whole grid
  // False: a device may hold more blocks than `resident` at once, or others than the launch write
  // what its threads poll, so that asking for ever is no run.hang.
  bool alone = true;
  std::uint32_t max_faults = 8;       // the launch ends at this many
  std::uint32_t max_shared = 232448;  // bytes a block may have, static and dynamic
  std::uint32_t max_threads = 1024;
  std::uint32_t sm_count = 132;  // the value of %nsmid
  StopFlags stop{};              // looked at between turns of warps; a stopped launch is an Error
};

struct Fault {
  std::string code;     // a row of rejection.hpp's table: "run.out_of_bounds"
  std::string message;  // names address, nearest buffer and offset
  std::string where;  // "block (1,0,0) thread (33,0,0), ptx line 120 (ld.global.f32), kernel.cu:42"
  std::uint32_t ptx_line = 0;
  std::uint32_t source_line = 0;
  std::uint64_t block = 0;   // linear
  std::uint32_t thread = 0;  // linear in the block
};

// The counts that the executions of one instruction of the text added.
struct LineTraffic {
  std::uint64_t requests = 0, sectors = 0;  // of global memory
  std::uint64_t wavefronts = 0,
                conflicts = 0;    // of shared memory; conflicts: wavefronts beyond the least
  std::uint64_t divergences = 0;  // branches whose lanes parted
};

// The number of issues of one instruction of the text, and of its threads.
struct LineCount {
  std::uint32_t function = 0, instruction = 0;  // Module::functions, Function::instructions
  std::uint64_t warps = 0, threads = 0;
  LineTraffic traffic{};  // zeros without ExecuteOptions::by_instruction
};

// Instructions of the entry, and of all that it calls, that a launch executed.
struct Executed {
  struct Part {
    std::uint32_t line = 0;
    // 0: never; of the first instruction of a branch's side within a loop the most that a warp went
    // there, up to 3; of others 3. Of a branch back the most that a warp took it, up to 2.
    std::uint32_t times = 0;
  };
  std::vector<Part> instructions, loops;
};

struct Report {
  std::vector<Fault> faults;     // empty: the launch ended well
  std::vector<Fault> remarks;    // no faults; the first of each code
  Counts counts;                 // interpreted; exact, or sampled when only some blocks ran
  std::vector<LineCount> lines;  // only executed ones
  Executed executed;             // with check_races
  // With note_loads: numbers of lines of 128 bytes of global memory, one of eight drawn, in the
  // order of their loads. With note_stores: those stored to, 16 times its number and a bit a
  // sector.
  std::vector<std::uint64_t> loaded, stored;
  std::uint64_t warp_instructions = 0;
  std::uint64_t blocks_run = 0;
  std::uint32_t threads = 1;  // host threads that ran them
  bool independent =
      true;  // no block read what another wrote and no returning atomic touched global memory
  std::string dependence;  // why not: the first instance
  bool stuck = false;  // the warps of a block or cluster wait for each other, whatever others do
  std::uint32_t local_bytes = 0;  // a thread
};

// Runs the launch. An Error is a bad request (grid of zero, wrong parameter size, too much shared
// memory is a Rejected `run.launch`); what the kernel does wrong stands in Report::faults.
Attempt<Report> execute(Program& program, DeviceMemory& memory, const Launch& launch,
                        const ExecuteOptions& options = {});

// The first fault as a rejection.
Rejected rejection_of(const Report& report);
// True if the launch did not come to its end: it passed its budget, or waits for what never comes,
// as some blocks may do without the others.
bool is_unended(const Report& report);

}  // namespace cupilot::ptx
