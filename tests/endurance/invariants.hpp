// What must hold of a journal at every prefix, whatever befell the machine; checked without the
// fold that resume uses.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/record_file.hpp"
#include "endurance/sim_device.hpp"

namespace cupilot::testing {

class Watcher {
 public:
  Watcher(const SimDevice& device, std::int64_t max_evaluations)
      : device_(&device), max_evaluations_(max_evaluations) {}

  // Bytes of the journal that became durable: whole frames of one batch.
  void durable(std::string_view bytes);
  // A compile is about to be paid for.
  void compiling(const std::string& strategy_id);
  // A new sitting: the journal as it lies on the disk.
  void reread(const std::vector<FramedRecord>& records);

  const std::vector<std::string>& broken() const { return broken_; }
  void note(bool holds, const std::string& invariant) {
    if (!holds && broken_.size() < 8) broken_.push_back(invariant);
  }
  std::int64_t evaluated() const { return evaluated_; }
  int finals() const { return finals_; }
  bool confirmed(std::int64_t slot) const { return confirmed_.count(slot) != 0; }

 private:
  void take(const FramedRecord& record);
  void take_result(const std::string& payload);
  void take_final(const std::string& payload);

  const SimDevice* device_;
  std::int64_t max_evaluations_ = 0, evaluated_ = 0;
  std::set<std::string> proposed_, settled_;  // strategy ids
  std::set<std::int64_t> open_, slots_, confirmed_;
  int finals_ = 0;
  bool ended_ = false;
  bool paid_again_ = false;  // a settled strategy was compiled in this sitting
  std::vector<std::string> broken_;
};

}  // namespace cupilot::testing
