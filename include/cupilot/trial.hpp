// What is run to prove a kernel (Case) and what came back (TrialReport).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cupilot/counts.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// One recipe of input content. `ordinary` follows each tensor's own fill; the others replace floating inputs.
// probe: ordinary data with one-hot rows and full-significand values woven in (exactness probes).
// special: ordinary data with infinities, NaN, signed zeros and denormals in a few places, propagated by the reference.
enum class ContentKind { ordinary, probe, zeros, huge_element, alternating, special };
struct Content {
  std::uint64_t seed = 1;
  ContentKind kind = ContentKind::ordinary;
  bool operator==(const Content&) const = default;
};

// One run: inputs from `content`, poisoned outputs, every element compared with the oracle when `compare` is 0, else that
// many drawn ones (and all are scanned for never having been written).
struct Case {
  Workload workload{};
  Content content{};
  std::int64_t compare = 0;
  bool count = false;  // gather counters, where the device can
  bool hash = false;   // fill OutputReport::bits_hash
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
  // SHA-256 (hex) of the output's elements, in linear order and storage type without gaps, when the case asks and they are
  // at most bits_hash_cap bytes; else "". Equal hashes say that two devices agree bit for bit.
  std::string bits_hash{};
};
inline constexpr std::int64_t bits_hash_cap = 64ll << 20;

struct CaseReport {
  Case what{};
  bool not_for_this_shape = false;
  std::vector<OutputReport> outputs{};
  std::vector<Fault> faults{};  // guard zones, changed inputs, illegal accesses, hangs
  Counts counts{};
  double seconds = 0;  // of the run, whole
};

struct TrialReport {
  std::vector<CaseReport> cases{};  // in order; ends early after a fault that ended the process
};

}  // namespace cupilot
