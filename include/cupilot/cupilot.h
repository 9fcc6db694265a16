/* The C interface of cupilot. Every function accepts null for any pointer, throws nothing, prints
 * nothing and keeps no global state. Handles are independent; each serves one thread at a time.
 * Text is UTF-8. The caller owns returned handles and char* and frees them by the function named
 * there; a const char* lives as long as its handle.
 *
 * A failure returns null or CUPILOT_ERROR and fills `error`, unless that is null. */
#ifndef CUPILOT_CUPILOT_H
#define CUPILOT_CUPILOT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CUPILOT_C_API __attribute__((visibility("default")))
#else
#define CUPILOT_C_API
#endif

/* Incremented when a function or a struct changes in a way that breaks a program compiled against
 * an older header. */
#define CUPILOT_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupilot_task cupilot_task;           /* a computation to find kernels for */
typedef struct cupilot_evolution cupilot_evolution; /* an ask/tell search */
typedef struct cupilot_job cupilot_job;             /* one kernel to try */
typedef struct cupilot_report cupilot_report;       /* the result of cupilot_evolve */
typedef struct cupilot_stop cupilot_stop;           /* a request to end a running search */

/* code: 1 failure, 2 usage, 3 no such device, 4 toolchain missing, 5 model endpoint, 6 budget, 7 no
 * valid candidate, 8 refused (docs/formats/exit-codes.md). Longer texts are cut. */
typedef struct cupilot_error {
  int32_t code;
  char message[1020]; /* names the thing and the reason */
  char hint[512];     /* the next step */
} cupilot_error;

/* Zero bytes select the defaults. New fields are added at the end only. Set `size` to
 * sizeof(cupilot_options): the library reads no further. */
typedef struct cupilot_options {
  size_t size;
  uint64_t seed;               /* 0: 1 */
  int64_t max_evaluations;     /* kernels handed to the compiler; 0: 200 */
  int64_t max_generations;     /* 0: no limit */
  double target_us;            /* stop when reached; 0: no target */
  double max_seconds;          /* cupilot_evolve: wall clock; 0: no limit */
  double plain_us;             /* cupilot_begin: the plain baseline's time; 0: unknown */
  const char* run_dir;         /* cupilot_evolve: folder that keeps the run; null: none */
  const char* worker_path;     /* cupilot_evolve: path of cupilot-worker; null: searched for */
  const char* const* tunables; /* paths of own templates (docs/formats/tunable.md), searched beside
                                  the built-in ones */
  size_t tunable_count;
  cupilot_stop* stop; /* cupilot_evolve, cupilot_resume: outlives the call; null: none */
  int32_t no_plain;   /* cupilot_evolve: not 0: the task's reference is not timed as a baseline */
} cupilot_options;

enum cupilot_ask_answer {
  CUPILOT_ERROR = -1,
  CUPILOT_JOB = 0,
  CUPILOT_WAITING = 1,
  CUPILOT_FINISHED = 2
};

/* CUPILOT_REFUSED: taken, but counted as a rejection (below the floor, or the kernel of an earlier
 * job); `error` names it. */
enum cupilot_told {
  CUPILOT_TAKEN = 0,
  CUPILOT_LATE = 1,
  CUPILOT_AGAIN = 2,
  CUPILOT_UNKNOWN = 3,
  CUPILOT_REFUSED = 4
};

/* One launch of a job's kernel at one time shape, in numbers. */
typedef struct cupilot_launch {
  const char* entry; /* name in the source */
  int64_t grid[3];
  int32_t block[3], cluster[3];
  int64_t shared_bytes; /* dynamic */
} cupilot_launch;

CUPILOT_C_API const char* cupilot_version(void); /* "0.1.0" */
CUPILOT_C_API int32_t cupilot_abi(void);         /* CUPILOT_ABI of the library */
CUPILOT_C_API void cupilot_free_text(char* text);

/* Makes a task from words: "gemm m=4096 n=4096 k=4096 dtype=bf16", or the path of a task file
 * (docs/formats/task.md). */
CUPILOT_C_API cupilot_task* cupilot_task_from_words(const char* words, cupilot_error* error);
CUPILOT_C_API cupilot_task* cupilot_task_from_json(const char* json, cupilot_error* error);
CUPILOT_C_API void cupilot_task_free(cupilot_task* task);

/* Begins an ask/tell search. chip: "h200" and the like. Times that the host tells are marked
 * `reported`. */
CUPILOT_C_API cupilot_evolution* cupilot_begin(const cupilot_task* task, const char* chip,
                                               const cupilot_options* options,
                                               cupilot_error* error);
CUPILOT_C_API void cupilot_evolution_free(cupilot_evolution* evolution);
/* Returns a cupilot_ask_answer. CUPILOT_JOB puts a job into *job, freed by cupilot_job_free;
 * CUPILOT_WAITING: tell or forget a job first. */
CUPILOT_C_API int32_t cupilot_ask(cupilot_evolution* evolution, cupilot_job** job,
                                  cupilot_error* error);
/* Returns a cupilot_told, or CUPILOT_ERROR for a time that is not positive or longer than a day,
 * which changes nothing. kernel_hash: equal for equal kernels; null: unknown. */
CUPILOT_C_API int32_t cupilot_tell(cupilot_evolution* evolution, uint64_t id, double time_us,
                                   const char* kernel_hash, cupilot_error* error);
/* code: a row of docs/formats/rejections.md, such as "compile.error", "verify.bound". */
CUPILOT_C_API int32_t cupilot_reject(cupilot_evolution* evolution, uint64_t id, const char* code,
                                     const char* message, cupilot_error* error);
/* Gives up on an answer; returns a cupilot_told. */
CUPILOT_C_API int32_t cupilot_forget(cupilot_evolution* evolution, uint64_t id);
/* Returns the state as text, freed with cupilot_free_text. */
CUPILOT_C_API char* cupilot_save(const cupilot_evolution* evolution, cupilot_error* error);
CUPILOT_C_API cupilot_evolution* cupilot_load(const char* saved, cupilot_error* error);
/* Writes at most `capacity` ids that were given and neither told nor forgotten; returns their
 * number. */
CUPILOT_C_API size_t cupilot_open(const cupilot_evolution* evolution, uint64_t* ids,
                                  size_t capacity);
/* Returns the id of the fastest told job, 0 without any, and its time. */
CUPILOT_C_API uint64_t cupilot_best(const cupilot_evolution* evolution, double* time_us);
/* Rebuilds a job given earlier. */
CUPILOT_C_API cupilot_job* cupilot_job_of(const cupilot_evolution* evolution, uint64_t id,
                                          cupilot_error* error);

CUPILOT_C_API uint64_t cupilot_job_id(const cupilot_job* job);
CUPILOT_C_API const char* cupilot_job_source(const cupilot_job* job); /* CUDA C++ */
/* JSON, docs/formats/strategy.md. */
CUPILOT_C_API const char* cupilot_job_strategy(const cupilot_job* job);
/* JSON with arguments, docs/formats/launch-plan.md. */
CUPILOT_C_API const char* cupilot_job_plan(const cupilot_job* job);
/* One line for a person. */
CUPILOT_C_API const char* cupilot_job_description(const cupilot_job* job);
/* Returns a constant of the source, such as "BLOCK_M"; `fallback` if there is none of that name. */
CUPILOT_C_API int64_t cupilot_job_constant(const cupilot_job* job, const char* name,
                                           int64_t fallback);
/* Returns the number of launches at a time shape; 0 where they are unknown before compiling. */
CUPILOT_C_API size_t cupilot_job_launches(const cupilot_job* job, size_t shape);
/* Returns 0 when done. */
CUPILOT_C_API int32_t cupilot_job_launch(const cupilot_job* job, size_t shape, size_t index,
                                         cupilot_launch* launch);
CUPILOT_C_API void cupilot_job_free(cupilot_job* job);

/* Runs a whole search on a device by name: "auto", "cuda:0", "virtual:h200", "recorded:DIR",
 * "fake:FILE". */
CUPILOT_C_API cupilot_report* cupilot_evolve(const cupilot_task* task, const char* device,
                                             const cupilot_options* options, cupilot_error* error);
/* Runs a whole search in the host's own CUcontext, on a CUstream of it that is not a default
 * stream. Nothing confines a kernel there; see cupilot/in_process.hpp. */
CUPILOT_C_API cupilot_report* cupilot_evolve_in_process(const cupilot_task* task, void* context,
                                                        void* stream,
                                                        const cupilot_options* options,
                                                        cupilot_error* error);
/* Continues the run in run_dir without any difference to an uninterrupted one. device: the one that
 * it began on; null: opened by its recorded name. Reads these options: max_evaluations (new total
 * limit), max_seconds (new budget), worker_path and stop. */
CUPILOT_C_API cupilot_report* cupilot_resume(const char* run_dir, const char* device,
                                             const cupilot_options* options, cupilot_error* error);
/* cupilot_request_stop ends the searches that were given `stop`; callable on any thread and in
 * signal handlers. Running jobs finish, the call returns null with code 7, and the run directory
 * can be resumed. */
CUPILOT_C_API cupilot_stop* cupilot_stop_new(void);
CUPILOT_C_API void cupilot_request_stop(cupilot_stop* stop);
CUPILOT_C_API void cupilot_stop_free(cupilot_stop* stop);
/* the best kernel as a self-contained .cu */
CUPILOT_C_API const char* cupilot_report_source(const cupilot_report* report);
CUPILOT_C_API const char* cupilot_report_description(const cupilot_report* report);
CUPILOT_C_API double cupilot_report_time_us(const cupilot_report* report);
/* "measured", "modelled", "reported" */
CUPILOT_C_API const char* cupilot_report_provenance(const cupilot_report* report);
/* kernels handed to the compiler */
CUPILOT_C_API int64_t cupilot_report_evaluations(const cupilot_report* report);
/* Returns the time of a baseline, "plain" or "cublaslt", in the report's provenance; 0: none. */
CUPILOT_C_API double cupilot_report_baseline_us(const cupilot_report* report, const char* name);
/* The first refusal of a code in a run. Texts live as long as the report. */
typedef struct cupilot_refusal {
  uint64_t candidate;      /* 0: a template's plain setting, before the first candidate */
  const char* setting;     /* its strategy in one line */
  const char* code;        /* docs/formats/rejections.md */
  const char* message;     /* the reason; lines in it count in `file`, where that is known */
  const char* next;        /* the next step */
  const char* file;        /* the user's own template; "": the kernel has another origin */
  int32_t line;            /* in `file`, else in the kernel's text, from 1; 0: none is named */
  const char* source_line; /* that line */
} cupilot_refusal;
CUPILOT_C_API size_t cupilot_report_refusals(const cupilot_report* report);
/* Returns 0 when done. */
CUPILOT_C_API int32_t cupilot_report_refusal(const cupilot_report* report, size_t index,
                                             cupilot_refusal* refusal);
CUPILOT_C_API void cupilot_report_free(cupilot_report* report);

#ifdef __cplusplus
}
#endif

#endif
