#include "pool/sqlite.hpp"

#include <sqlite3.h>

namespace cupilot {
namespace {

constexpr int patience_ms = 5000;  // for another process that writes

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Error failure(const std::string& path, sqlite3* handle) {
  const std::string reason = handle != nullptr ? sqlite3_errmsg(handle) : "out of memory";
  return {ErrorCode::failure, "strategy pool " + path + ": " + reason,
          "name another file with --pool FILE, or --pool off"};
}

void bind(sqlite3_stmt* statement, int at, const SqlValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    sqlite3_bind_int64(statement, at, *number);
  } else if (const auto* real = std::get_if<double>(&value)) {
    sqlite3_bind_double(statement, at, *real);
  } else {
    const auto& text = std::get<std::string>(value);
    sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
}

SqlValue column(sqlite3_stmt* statement, int at) {
  switch (sqlite3_column_type(statement, at)) {
    case SQLITE_INTEGER:
      return static_cast<std::int64_t>(sqlite3_column_int64(statement, at));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, at);
    default: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, at));
      return text == nullptr
                 ? std::string()
                 : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, at)));
    }
  }
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close(handle); }

Result<Database> Database::open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database;
  database.path_ = path;
  database.handle_.reset(handle);
  if (code != SQLITE_OK) return failure(path, handle);
  sqlite3_busy_timeout(handle, patience_ms);
  return database;
}

Result<std::vector<SqlRow>> Database::run(const std::string& sql,
                                          const std::vector<SqlValue>& values) const {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK)
    return failure(path_, handle_.get());
  const Statement statement(raw);
  for (std::size_t i = 0; i < values.size(); ++i) bind(raw, static_cast<int>(i) + 1, values[i]);
  std::vector<SqlRow> rows;
  int code = sqlite3_step(raw);
  for (; code == SQLITE_ROW; code = sqlite3_step(raw)) {
    SqlRow& row = rows.emplace_back();
    for (int at = 0; at < sqlite3_column_count(raw); ++at) row.push_back(column(raw, at));
  }
  if (code != SQLITE_DONE) return failure(path_, handle_.get());
  return rows;
}

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }

}  // namespace cupilot
