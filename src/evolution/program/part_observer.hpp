// The observer of a part's search.
#pragma once

#include <string>
#include <utility>

#include <cupilot/evolve.hpp>

namespace cupilot {

// Tells of a part's search under the part's name; its notices stay in its own journal.
class PartObserver final : public SearchObserver {
 public:
  PartObserver(SearchObserver* outer, std::string name) : outer_(outer), name_(std::move(name)) {}
  void on_refusal(const Refusal& refusal) override {
    if (outer_ != nullptr) outer_->on_refusal(refusal);
  }
  void on_activity(const Activity& activity) override {
    if (outer_ == nullptr) return;
    Activity told = activity;
    told.doing = "part " + name_ + ": " + told.doing;
    outer_->on_activity(told);
  }

 private:
  SearchObserver* outer_;
  std::string name_;
};

}  // namespace cupilot
