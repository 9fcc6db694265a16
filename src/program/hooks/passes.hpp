// Folds of a row that one pass over its elements computes together.
#pragma once

#include <vector>

#include <cupilot/task.hpp>

#include "program/hooks/graph_site.hpp"

namespace cupilot {

struct FoldPass {
  // squares: a fold of squared differences from the fold before it shares four floats with that
  // one: number, sum, mean and sum of squares about the mean. place: a fold that finds where the
  // extreme before it lies first shares two with that one: the extreme and its place.
  enum class Form { terms, squares, place };
  // slot: place of a fold's value among the floats that a thread keeps.
  struct Member {
    int number = 0;  // of the fold among the site's
    int slot = 0;
    Form form = Form::terms;
  };
  std::vector<Member> members{};
  int size = 0;  // floats
  // The form of the member after member i, where both share floats; else terms.
  Form shared_with_next(std::size_t i) const {
    return i + 1 < members.size() ? members[i + 1].form : Form::terms;
  }
};

// A pass holds neighbouring folds that need no result of one another, or only the mean of what
// they square, or the extreme that they look for. Columns: squares take a pass of their own.
std::vector<FoldPass> passes_of(const Task& task, const GraphSite& site);

}  // namespace cupilot
