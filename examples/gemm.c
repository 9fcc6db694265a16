/* Evolves a GEMM through the C ABI and prints how fast it is. */
#include <cupilot/cupilot.h>

#include <stdio.h>

int main(int argc, char** argv) {
  cupilot_error error = {0};
  cupilot_options options = {.size = sizeof options, .max_evaluations = 8};
  cupilot_task* task = cupilot_task_from_words("gemm m=64 n=64 k=64 dtype=fp32", &error);
  cupilot_report* report = cupilot_evolve(task, argc > 1 ? argv[1] : "auto", &options, &error);
  if (report == NULL) {
    fprintf(stderr, "%s\n  next: %s\n", error.message, error.hint);
  } else {
    printf("%s\n%.2f us %s, plain baseline %.2f us\n", cupilot_report_description(report), cupilot_report_time_us(report),
           cupilot_report_provenance(report), cupilot_report_baseline_us(report, "plain"));
  }
  cupilot_report_free(report);
  cupilot_task_free(task);
  return report == NULL ? error.code : 0;
}
