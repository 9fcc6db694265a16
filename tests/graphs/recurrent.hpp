// An LSTM as a graph with a loop, and kernels of its parts with a fault each.
#pragma once

#include "graphs/chains.hpp"

namespace cupilot::graphs {

// The layer of examples/graph/lstm.json with so many steps: its projection, the product of a step
// with its sum, and the gates of a step are a part each.
Result<Subject> lstm_subject(const std::string& example, std::int64_t steps);

}  // namespace cupilot::graphs
