// The runs that prove a kernel (Case) and their results (TrialReport).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/counts.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// One recipe of input content. `ordinary` follows each tensor's own fill; the others replace
// floating inputs, most of them line by line (a line: the elements along the dimension summed
// over). docs/formats/numerics.md gives the purpose of each. probe: one-hot and four-element lines
// with full significands woven into ordinary data (exactness probes). special: infinities, NaN,
// signed zeros and denormals in a few places, carried on by the reference. constant_rows: one value
// a line. range_rows: lines near +-80, at +-1e4, around 1e6 with deviation 1. sparse: one non-zero
// element in each 16 x 16 block. hard_line: all +-1 but for one line of full significands. mixed:
// every outermost slice of another kind and scale. denormals: a few denormals in each line.
// integers: signed integers of 12 bits times signs, whose sums are exact in any order. scales:
// lines of magnitudes from 1e-30 to 1e30, far below zero, and of long runs of one value; where
// arithmetic of the contract's own type fails on it, as on denormals, so may a kernel.
// infinite_lines: lines of nothing but -infinity, with the next seed +infinity.
enum class ContentKind {
  ordinary,
  probe,
  zeros,
  huge_element,
  alternating,
  special,
  constant_rows,
  range_rows,
  sparse,
  hard_line,
  mixed,
  denormals,
  integers,
  scales,
  infinite_lines
};
inline constexpr ContentKind last_content = ContentKind::infinite_lines;
std::string_view name_of(ContentKind kind);  // "huge_element"

// A change to the inputs of a content kind. overlap: floating inputs of equal type and layout are
// one buffer, with the content of the first of them. scaled: the first floating input times 2.
// swapped: lines i and i + 8 of every 16 along the first free axis exchanged, in every tensor that
// has the axis. Both are relations: outputs must follow the plain run's (CaseReport::related).
enum class Variation { none, overlap, scaled, swapped };
std::string_view name_of(Variation variation);
struct Content {
  std::uint64_t seed = 1;
  ContentKind kind = ContentKind::ordinary;
  Variation variation = Variation::none;
  double held = 0;  // every sixteenth element or so of an ordinary floating input; 0: none
  bool operator==(const Content&) const = default;
};

// Content of outputs and scratch before a launch: quiet NaN of every floating type, or a large
// finite value.
enum class Poison { quiet_nan, large };

// One run: inputs from `content`, poisoned outputs, every element compared with the oracle when
// `compare` is 0, else that many drawn ones (and all are scanned for never having been written).
struct Case {
  Workload workload{};
  Content content{};
  std::int64_t compare = 0;
  bool count = false;  // gather counters, where the device can
  bool hash = false;   // fill OutputReport::bits_hash
  Poison poison = Poison::quiet_nan;
  // Number of further launches on the same inputs and freshly poisoned outputs (every second one
  // with the other poison), in another order of blocks and warps where the device allows it. Their
  // bits must equal the first launch's.
  int repeats = 0;
  // Places tensors at multiples of Tensor::alignment and of no larger power of two.
  bool least_aligned = false;
  // Runs the first, the last and drawn blocks of the grid alone, in memory that holds nothing but
  // what they touch, and compares what they wrote. Where that tells nothing, as of blocks that wait
  // for one another, the case counts as not for this shape. The virtual device alone does so.
  bool sampled = false;
  // The virtual device gives a launch this many times its budget of warp instructions, up to what
  // takes some seconds.
  int patience = 1;
};

struct Fault {
  std::string code{};     // a rejection code: "run.out_of_bounds", "run.race", "run.hang" …
  std::string message{};  // with address, buffer and PTX line where known
  std::string where{};    // "block (0,1,0) thread (33,0,0) ptx:412"
};

struct OutputReport {
  std::string tensor{};
  std::int64_t elements = 0, compared = 0;
  std::int64_t failed = 0;  // not (error <= bound), so NaN fails
  std::int64_t never_written = 0;
  double worst_ratio = 0;  // largest error / bound
  std::int64_t worst_index = -1;
  double got = 0, want = 0, bound = 0;  // at worst_index
  // SHA-256 (hex) of the output's elements, in linear order and storage type without gaps, when the
  // case asks and they are at most bits_hash_cap bytes; else "". Equal hashes say that two devices
  // agree bit for bit.
  std::string bits_hash{};
  std::int64_t repeat_differs =
      0;  // Elements whose bits differed from the first launch's in any repeat.
  std::int64_t relation_differs =
      0;  // Elements that violate the variation's relation to the plain run, bitwise.
  // Among the compared: elements whose value is one term, unrounded (the condition sum equals the
  // magnitude and the value is a number of the output's type): how many, how many of them had other
  // bits, and the largest relative error of those.
  std::int64_t one_term = 0, one_term_inexact = 0;
  double one_term_error = 0;
  // Failed elements that are let pass: the reference in the contract's own type fails there too.
  std::int64_t excused = 0;
};
inline constexpr std::int64_t bits_hash_cap = 64ll << 20;

struct CaseReport {
  Case what{};
  bool not_for_this_shape = false;
  std::vector<OutputReport> outputs{};
  std::vector<Fault> faults{};   // guard zones, changed inputs, illegal accesses, hangs
  std::vector<Fault> remarks{};  // harmless, yet worth a look: one value stored by two threads
  Counts counts{};
  double seconds = 0;    // whole run
  int repeats_done = 0;  // launches whose bits were compared with the first's
  bool related = false;  // relation_differs was filled
  // Number of output elements that the controller compared itself with reference values that it
  // computed; 0: none.
  std::int64_t recomputed = 0;
};

// Counts the instructions of an entry, and of all that it calls, that runs executed.
struct EntryCoverage {
  struct Part {
    std::uint32_t line = 0;  // in the PTX
    // 0: never; of a branch back the most that a warp took it, up to 2; of a side of a branch in a
    // loop how often a warp went there, up to 3, and 3 of all others that ran.
    std::uint32_t times = 0;
  };
  std::string entry{};
  std::vector<Part> instructions{}, loops{};  // loops: branches back to an earlier instruction
};

// A case that the executed code asked for and that was not judged.
struct CaseLeftOut {
  Case what{};
  std::string asked_by{};  // "PTX line 12 compares rows with 4097"
  std::string reason{};    // "it did not end within 32000000 warp instructions, at k.cu:14"
  bool begun = false;      // it ran, and did not end within its budget
  bool named = false;      // the code compares an argument with this size
};

struct TrialReport {
  std::vector<CaseReport> cases{};      // in order; ends early after a fault that ended the process
  std::vector<CaseLeftOut> left_out{};  // by budgets, beside the cases
  std::vector<EntryCoverage> coverage{};  // sums all cases; empty: the device does not tell
  // confinement of the processes that ran the kernel, or the reason for none
  std::string confinement{};
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
