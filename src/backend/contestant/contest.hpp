// PyTorch of the user's python3 as a timed contestant: processes of torch.py, one a set of global
// flags, which map the judge's memory and run when it is their turn.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cupilot/result.hpp>

#include "backend/contestant/graph.hpp"
#include "backend/wire/orders.hpp"
#include "backend/worker/process.hpp"

namespace cupilot {

// One timed launch of a contestant.
struct ContestOrder {
  std::string name;             // "torch-compile"
  std::string graph;            // contestant_graph()
  std::vector<Region> tensors;  // in the task's order
  std::vector<ContentDigest> digests;
  bool cold = true;
  bool first = false;  // launches before it may compile and choose algorithms
};

// Memory that the judge shares.
struct SharedSlot {
  int number = -1;
  std::int64_t bytes = 0;
  bool writable = false;
  int descriptor = -1;
};

struct ContestSetting {
  std::string python;  // "": there are no contestants
  std::vector<std::string> environment;
  int device = 0;
  std::string uuid;  // of the judge's device
};

// One thread at a time.
class Contest {
 public:
  explicit Contest(ContestSetting setting) : setting_(std::move(setting)) {}
  // Versions and flags. Error no_device names what lacks: python, PyTorch, the device.
  Result<std::string> says(const std::string& name);
  // Microseconds between events; Rejected{measure.failed} says why there are none.
  Attempt<double> run(const ContestOrder& order, std::span<const SharedSlot> slots, double seconds);
  // Gives all memory back; processes and their compiled modules stay.
  void rest();
  int processes() const;

 private:
  struct Child {
    Process process;
    std::string says, graph;
    std::vector<int> mapped;  // slots
    std::string pending;      // read, not yet a whole line
    std::string heard;        // the end of what it wrote to its standard streams
  };
  struct Reply;
  Child& child_of(const std::string& name);
  Result<void> start(const std::string& name);
  Reply ask(Child& child, const std::string& text, const std::vector<int>& descriptors,
            double seconds);
  Attempt<double> lost(Child& child, const std::string& why);
  std::optional<Rejected> ready(Child& child, const ContestOrder& order,
                                std::span<const SharedSlot> slots);

  ContestSetting setting_;
  std::array<Child, 2> children_;  // without and with cudnn.benchmark
};

}  // namespace cupilot
