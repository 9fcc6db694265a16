// A recorded landscape as a table: strategies with their measured times, and a space that holds these strategies alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/agents.hpp>
#include <cupilot/candidate.hpp>
#include <cupilot/device.hpp>
#include <cupilot/search.hpp>
#include <cupilot/space.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

struct TableRow {
  Strategy strategy;
  std::string id;
  double time_us = 0;     // over the anchor's drift; 0: refused
  std::string rejection;  // its code
  Counts counts;          // of the virtual device; empty where there are none
};

struct Table {
  std::string name;
  Task task;
  DeviceSpec device;
  double plain_us = 0;
  std::vector<TableRow> rows;
  double best_us = 0;

  // What the search is told of a row: its measured time, and a verdict from the virtual device's counts.
  Score score(const TableRow& row) const;
  // Rows within this factor of the best time.
  std::size_t near(double factor) const;
};

// landscape.jsonl of a recorded landscape, and counts.jsonl beside it where there is one.
Result<Table> read_table(const std::string& folder);

// Every strategy of the table and no other. complete() answers the recorded strategy nearest to what `whole` completes the wish
// to; one that keeps what is pinned comes first.
std::unique_ptr<Space> table_space(const Table& table, std::unique_ptr<Space> whole);

}  // namespace cupilot
