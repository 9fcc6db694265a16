// Folds of a row that one pass over its elements computes together.
#pragma once

#include <vector>

#include <cupilot/task.hpp>

#include "program/graph_site.hpp"

namespace cupilot {

struct FoldPass {
  // slot: place of a fold's value among the floats that a thread keeps. A fold of squared
  // differences from the fold before it shares four with that one: number, sum, mean and sum of
  // squares about the mean.
  struct Member {
    int number = 0;  // of the fold among the site's
    int slot = 0;
    bool squares = false;
  };
  std::vector<Member> members{};
  int size = 0;  // floats
};

// A pass holds neighbouring folds that need no result of one another, or only the mean of what
// they square. Columns: a pass a fold.
std::vector<FoldPass> passes_of(const Task& task, const GraphSite& site);

}  // namespace cupilot
