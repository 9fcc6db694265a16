// A recorded landscape as a table: strategies with their measured times, and a space that holds
// these strategies alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/candidate.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/space.hpp>
#include <cupilot/search.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

struct TableRow {
  Strategy strategy;
  std::string id;
  double time_us = 0;     // median of its measurements; 0: refused
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

  // The row that holds it; null: none does.
  const TableRow* find(const Strategy& strategy) const;
  // What the search is told of a row: its measured time, and a verdict from the virtual device's
  // counts or, without them, the task's work.
  Score score(const TableRow& row) const;
  // Rows within this factor of the best time.
  std::size_t near(double factor) const;
  // Rows whose verdict stands on counts; that of the others stands on the task's work alone.
  std::size_t counted() const;
  // The rows that `other` does not hold.
  Table without(const Table& other) const;
};

// landscape.jsonl of a recorded landscape, and counts-NAME.jsonl of the other folder where there is
// one. Times are taken as they were measured: the anchors beside them are of one kernel a card, and
// a landscape may hold what two cards measured.
Result<Table> read_table(const std::string& folder, const std::string& counts_folder);

// Every strategy of the table and no other. complete() answers the recorded strategy nearest to
// what `whole` completes the wish to; one that keeps what is pinned comes first. It remembers its
// answers: one thread at a time.
std::unique_ptr<Space> table_space(const Table& table, std::shared_ptr<const Space> whole);

}  // namespace cupilot
