// SQLite with errors as values; the only file that sees sqlite3.h is sqlite.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <cupilot/result.hpp>

struct sqlite3;

namespace cupilot {

using SqlValue = std::variant<std::int64_t, double, std::string>;
using SqlRow = std::vector<SqlValue>;  // NULL reads as ""

class Database {
 public:
  static Result<Database> open(const std::string& path);
  // One statement with its parameters; the rows it gives.
  Result<std::vector<SqlRow>> run(const std::string& sql,
                                  const std::vector<SqlValue>& values = {}) const;
  std::int64_t last_row() const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// All of `work` or nothing.
template <class Work>
Result<void> transaction(const Database& database, Work work) {
  if (auto begun = database.run("BEGIN IMMEDIATE"); !begun) return begun.error();
  Result<void> done = work();
  auto ended = database.run(done ? "COMMIT" : "ROLLBACK");
  if (done && !ended) return ended.error();
  return done;
}

}  // namespace cupilot
