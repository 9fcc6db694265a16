// A task of one's own, said in C++: y = a x + y, a weighted sum of two vectors. Searches the kernel
// own_task.cu for it. usage: example_own_task [DEVICE]
#include <cupilot/cupilot.hpp>

#include <cstdio>

namespace {

cupilot::Task axpy(std::int64_t n) {
  cupilot::Task task;
  task.name = task.family = "axpy";
  task.axes = {{"n"}};
  task.tensors = {{.name = "x", .shape = {"n"}},
                  {.name = "y", .role = cupilot::Role::in_out, .shape = {"n"}}};
  task.scalars = {{"a", cupilot::DType::f32, 1.5}};
  task.time_shapes = {{{{"n", n}}}};
  task.check_shapes = {{{{"n", 1}}}, {{{"n", 1021}}}};
  task.work.flops = "2*n";
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long i) { return in.a * in.x(i) + "
      "in.y(i); }";
  return task;
}

int fail(const cupilot::Error& error) {
  std::fprintf(stderr, "%s\n  next: %s\n", error.message.c_str(), error.hint.c_str());
  return static_cast<int>(error.code);
}

}  // namespace

int main(int argc, char** argv) {
  const auto device = cupilot::open_backend(argc > 1 ? argv[1] : "auto");
  if (!device) return fail(device.error());
  const auto report = cupilot::evolve(
      axpy(1 << 20), **device, {.search = {.max_evaluations = 8}, .tunables = {OWN_TASK_TUNABLE}});
  if (!report) return fail(report.error());
  const auto& found = std::get<cupilot::Accepted>(report->best->candidate.outcome);
  std::printf("%s\n%.2f us %s, worst error %.3f of its bound\n",
              describe(report->best->candidate.strategy).c_str(), found.measurement.time_us,
              name_of(found.measurement.provenance).data(), found.verification.worst_ratio);
}
