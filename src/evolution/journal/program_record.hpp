// program.json of a run directory: how a graph was cut, and what each part's search found
// (docs/formats/run-directory.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/candidate.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>

namespace cupilot {

// A part that some partition has.
struct ProgramPartRecord {
  std::vector<std::string> on{};  // its operations
  std::string task_id{};
  double floor_us = 0;     // no kernel of the part is faster
  bool prepared = false;   // of constant tensors alone: the program runs it once, untimed
  std::int64_t times = 1;  // that a program runs it: the steps of its repeat
  double forecast_us = 0;  // of its templates' models; 0: none
  // The earlier part that computes the same and whose search serves this one too.
  std::optional<std::size_t> like{};
  std::string library = "cublaslt";  // whose step and baseline it may be
  bool views = false;                // its result is views that other parts write: it has no kernel
};

// An edge that is a view: it lies in the buffer of another tensor, from that element on.
struct ProgramViewRecord {
  std::string tensor{}, buffer{}, from{};
};

// A slot: one part's search went on until it had this many evaluations.
struct ProgramSlotRecord {
  std::size_t part = 0;
  std::int64_t evaluations = 0;
  double time_us = 0;          // of its best kernel; 0: none
  double library_us = 0;       // of the library's call for the part, beside it; 0: none
  double step_us = 0;          // of the part as the library's step, proved and timed; 0: none
  std::string step_refused{};  // the reason where such a step was tried and not accepted
  Strategy strategy{};         // of that kernel
  std::string refused{};       // the reason where there is none
};

struct ProgramRecord {
  std::int64_t max_evaluations = 0;  // of all parts; 0: no limit
  std::int64_t slot_evaluations = 0;
  int lookahead = 0;   // of the parts' searches; 0: as each device needs
  std::string pool{};  // that they ask; "": none
  bool listed = true;  // every legal partition; false: those that dynamic programming found
  std::vector<ProgramPartRecord> parts{};
  std::vector<std::vector<std::size_t>> partitions{};  // parts in the order of their launches
  std::vector<ProgramSlotRecord> slots{};
  std::vector<ProgramViewRecord> views{};
};

// A part as its slots left it.
struct PartStanding {
  double floor_us = 0;
  double forecast_us = 0;  // 0: none
  int slots = 0;
  std::int64_t evaluations = 0;
  double time_us = 0;     // 0: no kernel yet
  double library_us = 0;  // beside its last kernel; 0: none
  double step_us = 0;     // as the library's step; 0: none
  std::string step_refused{};
  std::string library{};      // as of the part
  double last_gain = 0;       // by which the last slot made it faster: 0.1 is 10 %
  std::size_t best_slot = 0;  // the slot of its best kernel
  bool refused = false;       // slots enough, neither a kernel nor a step
  bool prepared = false, views = false;
  std::int64_t times = 1;  // that a program runs it
  // True where a program may hold it: it has a kernel or a step, or needs none.
  bool is_ready() const { return views || best_us() > 0; }
  // True where the library is faster than its kernel, or there is none.
  bool by_library() const { return step_us > 0 && (time_us <= 0 || step_us < time_us); }
  // Returns the time of its kernel or of the library's step; 0: neither yet.
  double best_us() const { return by_library() ? step_us : time_us; }
  // Returns that time in a program, the floor before there is one; 0 for a part that is prepared.
  double expected_us() const;
  // Returns that time, the model's forecast before there is one.
  double likely_us() const;
};
// "; as a step of cublaslt 59.4 us", or the reason why it is none; "": it was not tried.
std::string step_text(const PartStanding& part);
std::vector<PartStanding> standings(const ProgramRecord& record);
// The part whose slots are those of `part`: itself, or the one that it is like.
std::size_t searched_as(const ProgramRecord& record, std::size_t part);
// Sum of the parts' expected times; infinite where a part is refused.
double expected_us(const std::vector<std::size_t>& partition,
                   const std::vector<PartStanding>& parts);

std::string program_path(const std::string& run_dir);
std::string to_json(const ProgramRecord& record);
Result<ProgramRecord> program_record_from(std::string_view json, const std::string& origin);

// Sentences of a report: parts and partitions with their times.
std::vector<std::string> program_lines(const ProgramRecord& record);
// Reads them from a run directory; none where it is no program's.
std::vector<std::string> program_lines(Host& host, const std::string& run_dir);
// The program of a candidate and what became of it: "program a | b+c: 12.5 us modelled end to end".
std::string program_line(const Candidate& candidate);
// Says which program was taken, and why.
std::string taken_line(const Candidate& best, std::int64_t programs);

}  // namespace cupilot
