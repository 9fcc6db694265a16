// Puts a kernel of a graph through the rules that prove it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>

#include "evolution/evaluate/prove_whole.hpp"
#include "graphs/chains.hpp"

namespace cupilot::graphs {

struct Verdict {
  std::string rule{};  // that refused; "" where all passed, "error" where a machine failed
  std::string why{};
  double seconds = 0;
  std::map<std::string, double> of_rules{};  // seconds
};

// Keeps honest executions of one task, which its faulty kernels are held to as well. Any thread.
class HonestMemory {
 public:
  HonestMemory(Backend& device, const Task& task) : device_(device), task_(task) {}
  Result<std::shared_ptr<const HonestReference>> of(const Case& what);

 private:
  struct Known {
    std::mutex busy;
    std::shared_ptr<const HonestReference> reference;
  };
  Backend& device_;
  TaskRef task_;
  std::mutex mutex_;  // guards known_
  std::map<std::string, std::shared_ptr<Known>> known_;
};

struct Rules {
  bool program_only = false;  // the whole against honest executions, nothing else
};

// Proves the parts' program: the whole against honest executions, each part as a task of its own,
// the parts on what they got, the whole on its battery. `suspect`: the part that may be faulty;
// `all`: each may be.
Verdict judged(Backend& device, const Task& task, const std::vector<PartKernel>& parts,
               std::size_t suspect, bool all, std::uint64_t seed, HonestMemory& honest,
               const Rules& rules);

}  // namespace cupilot::graphs
