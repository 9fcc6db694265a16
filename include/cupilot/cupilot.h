/* cupilot for C and all that speaks it. Every function takes null for any pointer, throws nothing, prints nothing and keeps
 * no global state. Handles are independent; one thread at a time each. Text is UTF-8. What a function returns as a handle or
 * as char* belongs to the caller and is freed by the function named there; const char* lives as long as its handle.
 *
 * A failure returns null or CUPILOT_ERROR and fills `error`, where one is given. */
#ifndef CUPILOT_CUPILOT_H
#define CUPILOT_CUPILOT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CUPILOT_C_API __attribute__((visibility("default")))
#else
#define CUPILOT_C_API
#endif

/* Raised when a function or a struct changes in a way that breaks a program compiled against an older header. */
#define CUPILOT_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupilot_task cupilot_task;           /* what to compute */
typedef struct cupilot_evolution cupilot_evolution; /* a search in the host's hands */
typedef struct cupilot_job cupilot_job;             /* one kernel to try */
typedef struct cupilot_report cupilot_report;       /* what cupilot_evolve found */
typedef struct cupilot_stop cupilot_stop;           /* a wish to end a search, made while it runs */

/* code: 1 failure, 2 usage, 3 no such device, 4 toolchain missing, 5 model endpoint, 6 budget, 7 no valid candidate, 8 refused
 * (docs/formats/exit-codes.md). Longer texts are cut. */
typedef struct cupilot_error {
  int32_t code;
  char message[1020]; /* the thing and the reason */
  char hint[512];     /* the next step */
} cupilot_error;

/* Zero bytes are the defaults. Fields are only ever added at the end. `size` is sizeof(cupilot_options): the library reads no
 * further. */
typedef struct cupilot_options {
  size_t size;
  uint64_t seed;               /* 0: 1 */
  int64_t max_evaluations;     /* kernels handed to the compiler; 0: 200 */
  int64_t max_generations;     /* 0: no limit */
  double target_us;            /* stop when reached; 0: no target */
  double max_seconds;          /* cupilot_evolve: wall clock; 0: no limit */
  double plain_us;             /* cupilot_begin: the plain baseline's time; 0: unknown */
  const char* run_dir;         /* cupilot_evolve: where the run is kept; null: nowhere */
  const char* worker_path;     /* cupilot_evolve: the program cupilot-worker; null: found by itself */
  const char* const* tunables; /* paths of own templates (docs/formats/tunable.md), searched beside the built-in ones */
  size_t tunable_count;
  cupilot_stop* stop; /* cupilot_evolve, cupilot_resume: outlives the call; null: none */
  int32_t no_plain;   /* cupilot_evolve: not 0: the task's reference is not timed as a baseline */
} cupilot_options;

enum cupilot_ask_answer { CUPILOT_ERROR = -1, CUPILOT_JOB = 0, CUPILOT_WAITING = 1, CUPILOT_FINISHED = 2 };

/* REFUSED: taken, but it counts as a rejection (below the floor, or the kernel of an earlier job); `error` says which. */
enum cupilot_told { CUPILOT_TAKEN = 0, CUPILOT_LATE = 1, CUPILOT_AGAIN = 2, CUPILOT_UNKNOWN = 3, CUPILOT_REFUSED = 4 };

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

/* words: "gemm m=4096 n=4096 k=4096 dtype=bf16", or the path of a task file (docs/formats/task.md). */
CUPILOT_C_API cupilot_task* cupilot_task_from_words(const char* words, cupilot_error* error);
CUPILOT_C_API cupilot_task* cupilot_task_from_json(const char* json, cupilot_error* error);
CUPILOT_C_API void cupilot_task_free(cupilot_task* task);

/* Ask and tell. chip: "h200" and the like; times told are the host's word and say so (`reported`). */
CUPILOT_C_API cupilot_evolution* cupilot_begin(const cupilot_task* task, const char* chip, const cupilot_options* options,
                                               cupilot_error* error);
CUPILOT_C_API void cupilot_evolution_free(cupilot_evolution* evolution);
/* A cupilot_ask_answer. CUPILOT_JOB puts a job into *job, freed by cupilot_job_free; WAITING: tell or forget one first. */
CUPILOT_C_API int32_t cupilot_ask(cupilot_evolution* evolution, cupilot_job** job, cupilot_error* error);
/* A cupilot_told, or CUPILOT_ERROR for nonsense (not a positive number, longer than a day), which changes nothing.
 * kernel_hash: equal for equal kernels; null: unknown. */
CUPILOT_C_API int32_t cupilot_tell(cupilot_evolution* evolution, uint64_t id, double time_us, const char* kernel_hash,
                                   cupilot_error* error);
/* code: a row of docs/formats/rejections.md, such as "compile.error", "verify.bound", "run.hang". */
CUPILOT_C_API int32_t cupilot_reject(cupilot_evolution* evolution, uint64_t id, const char* code, const char* message,
                                     cupilot_error* error);
CUPILOT_C_API int32_t cupilot_forget(cupilot_evolution* evolution, uint64_t id); /* no answer will come; a cupilot_told */
CUPILOT_C_API char* cupilot_save(const cupilot_evolution* evolution, cupilot_error* error); /* cupilot_free_text */
CUPILOT_C_API cupilot_evolution* cupilot_load(const char* saved, cupilot_error* error);
/* Ids given and neither told nor forgotten: writes at most `capacity`, returns how many there are. */
CUPILOT_C_API size_t cupilot_open(const cupilot_evolution* evolution, uint64_t* ids, size_t capacity);
/* The fastest told: its id, 0 when there is none, and its time. */
CUPILOT_C_API uint64_t cupilot_best(const cupilot_evolution* evolution, double* time_us);
/* A job given earlier, made anew. */
CUPILOT_C_API cupilot_job* cupilot_job_of(const cupilot_evolution* evolution, uint64_t id, cupilot_error* error);

CUPILOT_C_API uint64_t cupilot_job_id(const cupilot_job* job);
CUPILOT_C_API const char* cupilot_job_source(const cupilot_job* job);      /* CUDA C++ */
CUPILOT_C_API const char* cupilot_job_strategy(const cupilot_job* job);    /* JSON, docs/formats/strategy.md */
CUPILOT_C_API const char* cupilot_job_plan(const cupilot_job* job);        /* JSON with arguments, docs/formats/launch-plan.md */
CUPILOT_C_API const char* cupilot_job_description(const cupilot_job* job); /* one line for a person */
/* A constant of the source, such as "BLOCK_M"; `fallback` where it has none of that name. */
CUPILOT_C_API int64_t cupilot_job_constant(const cupilot_job* job, const char* name, int64_t fallback);
/* Launches at a time shape; 0 where they cannot be had before compiling. */
CUPILOT_C_API size_t cupilot_job_launches(const cupilot_job* job, size_t shape);
CUPILOT_C_API int32_t cupilot_job_launch(const cupilot_job* job, size_t shape, size_t index,
                                         cupilot_launch* launch); /* 0: done */
CUPILOT_C_API void cupilot_job_free(cupilot_job* job);

/* The whole circle on a device by name: "auto", "cuda:0", "virtual:h200", "recorded:DIR", "fake:FILE". */
CUPILOT_C_API cupilot_report* cupilot_evolve(const cupilot_task* task, const char* device, const cupilot_options* options,
                                             cupilot_error* error);
/* The same in the host's own CUcontext, on a CUstream of it that is no default stream. Nothing confines a kernel there:
 * cupilot/in_process.hpp says what that means. */
CUPILOT_C_API cupilot_report* cupilot_evolve_in_process(const cupilot_task* task, void* context, void* stream,
                                                        const cupilot_options* options, cupilot_error* error);
/* Continues the run kept in run_dir, as if it had never stopped. device: the one that it was begun on; null opens it by the name
 * it had. Of options: max_evaluations (a new limit, in all), max_seconds (a new budget), worker_path and stop. */
CUPILOT_C_API cupilot_report* cupilot_resume(const char* run_dir, const char* device, const cupilot_options* options,
                                             cupilot_error* error);
/* cupilot_request_stop, on any thread and in a signal handler too, ends the searches that were given `stop`: what runs is
 * finished, the run directory can be resumed, and null with code 7 is returned. */
CUPILOT_C_API cupilot_stop* cupilot_stop_new(void);
CUPILOT_C_API void cupilot_request_stop(cupilot_stop* stop);
CUPILOT_C_API void cupilot_stop_free(cupilot_stop* stop);
CUPILOT_C_API const char* cupilot_report_source(const cupilot_report* report); /* the best kernel, a .cu that stands alone */
CUPILOT_C_API const char* cupilot_report_description(const cupilot_report* report);
CUPILOT_C_API double cupilot_report_time_us(const cupilot_report* report);
CUPILOT_C_API const char* cupilot_report_provenance(const cupilot_report* report); /* "measured", "modelled", "reported" */
CUPILOT_C_API int64_t cupilot_report_evaluations(const cupilot_report* report);    /* kernels handed to the compiler */
/* Of a baseline, "plain" or "cublaslt", 0 where there is none; same provenance. */
CUPILOT_C_API double cupilot_report_baseline_us(const cupilot_report* report, const char* name);
/* The first refusal of a code in a run. Texts live as long as the report. */
typedef struct cupilot_refusal {
  uint64_t candidate;      /* 0: a template's plain setting, before the first candidate */
  const char* setting;     /* its strategy in one line */
  const char* code;        /* docs/formats/rejections.md */
  const char* message;     /* the reason; lines in it count in `file`, where that is known */
  const char* next;        /* the next step */
  const char* file;        /* the user's own template; "": the kernel has another origin */
  int32_t line;            /* of `file`, else of the kernel's text, from 1; 0: none is named */
  const char* source_line; /* that line */
} cupilot_refusal;
CUPILOT_C_API size_t cupilot_report_refusals(const cupilot_report* report);
CUPILOT_C_API int32_t cupilot_report_refusal(const cupilot_report* report, size_t index,
                                             cupilot_refusal* refusal); /* 0: done */
CUPILOT_C_API void cupilot_report_free(cupilot_report* report);

#ifdef __cplusplus
}
#endif

#endif
