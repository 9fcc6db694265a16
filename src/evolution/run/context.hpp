// Everything opened for one run: who proposes, who writes, what space, which workload.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/pool.hpp>

#include "evolution/run/timely_chat.hpp"

namespace cupilot {

// A search's parts beside its options; the pointers reach into the owners or to what the caller
// gave.
struct SearchComponents {
  std::unique_ptr<Space> space;
  Strategist* strategist = nullptr;
  KernelWriter* writer = nullptr;
  Zone zone = Zone::memory;
  Knowledge knowledge;
  std::unique_ptr<Strategist> own_strategist;
  std::unique_ptr<KernelWriter> own_writer;
  bool templates = true;             // false: no template serves the task
  std::vector<PoolOutcome> learnt;   // by knowledge.forecast
  std::vector<std::string> ignored;  // notices on what tunables hold and nothing reads
};

// `techniques` not empty: they span the space, and kernels are their values. `tunables`: paths.
// `families`: where templates and techniques come from, empty: the built-in ones. Error{usage} when
// nothing can write the task, or the task is not valid. `free`: a model or the host's own writer
// can write what no template serves.
Result<SearchComponents> find_components(const Task& task, const DeviceSpec& device,
                                         const std::vector<Technique>& techniques,
                                         const std::vector<std::string>& tunables,
                                         const Families& families, bool random_search,
                                         bool free = false);

// Forecasts that know what earlier runs timed. Those of landscapes and without outcomes stay as
// they are.
Result<void> learn(SearchComponents& components, const Task& task, const DeviceSpec& device,
                   const std::vector<std::string>& tunables, const Families& families,
                   std::vector<PoolOutcome> learnt);

// A template with all its techniques off.
struct PlainSetting {
  std::string name;  // the template's name
  Result<KernelSource> source;
};

struct RunContext : SearchComponents {
  // Settings of the user's own templates; none where kernels have another origin.
  std::vector<PlainSetting> plain;
  TaskRef task;  // a device that spans its own space has one that stands for it
  Backend* backend = nullptr;
  Backend* screen = nullptr;            // Pipe::screen
  std::unique_ptr<Backend> own_screen;  // it, where the caller gave none
  Backend* checker = nullptr;           // tries the task's own check; null: there is none to try
  std::string pool;                     // is read and told of the champion; "": there is none
  std::unique_ptr<TimelyChat>
      chat;                  // the caller's, which hears of the end; before those who ask it
  SeatOptions seats;         // the caller's, with the pool's example
  bool model_alone = false;  // no template serves the task
  bool confirms = true;      // false: the best stands as the search proved it
  bool asks_library = true;  // as a baseline
  std::atomic<double>* search_end = nullptr;  // KernelRun's
  std::unique_ptr<Strategist> model_strategist;
  std::unique_ptr<KernelWriter> model_writer;
  // Sentences that the run says from the start: why nothing screens, what the task's own
  // check was shown to reject.
  std::vector<std::string> notices;
};

// Error{usage} when nothing can write the task, or the task is not valid.
Result<RunContext> open_context(const Task& task, Backend& backend, const EvolveOptions& options);

}  // namespace cupilot
