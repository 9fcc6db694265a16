// Shared by the verbs that search.
#pragma once

#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>

#include <cupilot/evolve.hpp>

#include "commands/verbs.hpp"

namespace cupilot::cli {

// Generations go to standard output, or to standard error when standard output is one JSON object.
// A search never waits for who reads them.
class Screen : public SearchObserver {
 public:
  Screen(bool json, const Backend& backend)
      : json_(json),
        stream_(json ? stderr : stdout),
        provenance_(backend.provenance()),
        runs_kernels_(backend.traits().techniques.empty()) {}
  void on_generation(const Progress& progress) override;
  void on_notice(const std::string& notice) override;
  void on_refusal(const Refusal& refusal) override;
  void on_activity(const Activity& activity) override;
  void print(const std::string& line);
  // Takes away the lines that told what was waited for.
  void end();

 private:
  std::mutex mutex_;               // a notice comes from any thread
  std::size_t waiting_lines_ = 0;  // on a terminal: the last ones that on_activity wrote
  bool json_;
  std::FILE* stream_;
  Provenance provenance_;
  bool runs_kernels_;
};

// Proposals in flight: the device's own number suits one that measures; a virtual one wants its
// processors for itself.
int in_flight(int threads, const Backend& backend);
// `observer` must outlive the search.
EvolveOptions options_from(const EvolveFlags& flags, const Task& task, const Backend& backend,
                           SearchObserver& observer);

}  // namespace cupilot::cli
