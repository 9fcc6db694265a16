// A roofline verdict on a time that was measured elsewhere: where the kernel stands and how far the
// floor is.
#include <cupilot/cupilot.hpp>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  using namespace cupilot;
  const auto task = task_from_words({"gemm", "m=4096", "n=4096", "k=4096", "dtype=bf16"});
  const auto device = chip("h200");
  Measurement measurement;
  measurement.provenance = Provenance::reported;
  measurement.time_us = argc > 1 ? std::atof(argv[1]) : 210;
  // What a profiler counted; without any, the verdict rests on the task's own work.
  measurement.counts.source = CounterSource::counters;
  measurement.counts[Counter::dram_read_bytes].value = 180e6;
  measurement.counts[Counter::dram_write_bytes].value = 33.6e6;
  measurement.counts[Counter::ops_tensor_bf16].value = 2.0 * 4096 * 4096 * 4096;

  const auto verdict = judge(*task, task->time_shapes.front(), *device, measurement);
  if (!verdict) return std::fprintf(stderr, "%s\n", verdict.error().message.c_str()), 1;
  std::printf("zone %s: %.0f flops a byte, ridges at %.0f and %.0f\n",
              name_of(verdict->zone).data(), verdict->intensity, verdict->ridge_plain,
              verdict->ridge_tensor);
  std::printf(
      "%.1f us %s; no kernel of this class takes less than %.1f us (%.0f %% of that floor's "
      "speed)\n",
      measurement.time_us, name_of(measurement.provenance).data(), verdict->floor_us,
      100 * verdict->floor_share);
  for (const Bottleneck& pressure : verdict->bottlenecks) {
    if (pressure.share > 0.1)
      std::printf("%s %.0f %%\n", name_of(pressure.resource).data(), 100 * pressure.share);
  }
  return 0;
}
