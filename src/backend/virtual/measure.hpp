// Modelled times on the virtual device.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/verdict.hpp>

#include "backend/virtual/run.hpp"

namespace cupilot {

// Turns a time whose counts were extrapolated at `floor_us` of the task's class, microseconds,
// where it lies below: as far above. Says so among its conditions.
void turn_at_floor(Measurement& measurement, double floor_us);

// Operations that a kernel computes: on floats and on tensor cores, unless `products_alone` also
// integer and special ones.
double counted_operations(const Counts& counts, bool products_alone);

// Names a count below half of the textbook's operations among the conditions of a time and raises
// the end of its interval to that of half the textbook's work, at most a hundredfold.
void flag_little_work(Measurement& measurement, double counted, double textbook);

// The modelled time of a plan's launches at `workload`, with the conditions of the two above.
Measurement modelled_plan(const VirtualContext& context, const TaskRef& task,
                          const Workload& workload, const std::vector<ModelInput>& inputs);

class VirtualMeasurer {
 public:
  VirtualMeasurer(VirtualContext context, CompilePool& pool)
      : context_(context), pool_(pool), plain_(64) {}

  // Any thread. Times are modelled from counts of the launches; equal inputs give bitwise equal
  // reports. The plain baseline is the reference's plain build, one thread an element. A library
  // has no source to interpret: its report says so.
  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options);
  void clear() { plain_.clear(); }

 private:
  Attempt<Measurement> candidate(const TaskRef& task, const CompiledKernel& kernel,
                                 const Workload& workload, const Content& content);
  Attempt<Measurement> plain(const TaskRef& task, const Workload& workload, const Content& content);
  Result<CompiledKernel> compile_plain(const TaskRef& task, const ReferenceProgram& program);

  VirtualContext context_;
  CompilePool& pool_;
  ByteCache<Attempt<Measurement>> plain_;
};

}  // namespace cupilot
