/* A search in a C host's hands: it times kernels its own way (here a toy cost of the launch), saves at half time and goes on. */
#include <cupilot/cupilot.h>

#include <stdio.h>

static double toy_time_us(const cupilot_job* job) {
  cupilot_launch launch;
  if (cupilot_job_launch(job, 0, 0, &launch) != 0) return -1; /* known only after compiling */
  double waves = (double)((launch.grid[0] * launch.grid[1] * launch.grid[2] + 131) / 132);
  return 50 + waves * (4 + 2048.0 / launch.block[0]);
}

int main(void) {
  cupilot_error error = {0};
  cupilot_options options = {.size = sizeof options, .max_evaluations = 60};
  cupilot_task* task = cupilot_task_from_words("gemm m=1024 n=1024 k=1024 dtype=fp32", &error);
  cupilot_evolution* search = cupilot_begin(task, "h200", &options, &error);
  cupilot_job* job = NULL;
  int answers = 0;
  while (cupilot_ask(search, &job, &error) == CUPILOT_JOB) {
    double us = toy_time_us(job);
    if (us > 0) cupilot_tell(search, cupilot_job_id(job), us, NULL, &error);
    else cupilot_forget(search, cupilot_job_id(job));
    cupilot_job_free(job);
    if (++answers == 30) { /* in another process, as well */
      char* saved = cupilot_save(search, &error);
      cupilot_evolution_free(search);
      search = cupilot_load(saved, &error);
      cupilot_free_text(saved);
    }
  }
  double us = 0;
  job = cupilot_job_of(search, cupilot_best(search, &us), &error);
  if (job == NULL) fprintf(stderr, "%s\n", error.message);
  else printf("%s\n%.1f us reported, after %d answers\n", cupilot_job_description(job), us, answers);
  cupilot_job_free(job);
  cupilot_evolution_free(search);
  cupilot_task_free(task);
  return us > 0 ? 0 : 1;
}
