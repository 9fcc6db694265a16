// The append-only journal of a run directory (docs/formats/journal.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/host.hpp>

#include "base/record_file.hpp"
#include "evolution/records.hpp"

namespace cupilot {

std::string journal_path(const std::string& run_dir);

// Records of a run directory, without locking it. Error{usage} when there is none or its format is another one.
Result<ReadRecords> read_journal(Host& host, const std::string& run_dir);

// The journal held open for writing; the run directory is locked as long as it lives.
class Journal {
 public:
  // Makes the directory and its journal. Error{usage} when the directory already holds a journal or is locked.
  static Result<Journal> create(Host& host, const std::string& run_dir);
  // Opens an existing one. A torn tail is copied to journal.torn-N, then cut off.
  struct Opened;
  static Result<Opened> open(Host& host, const std::string& run_dir);

  // Adds to the batch; nothing is written yet.
  void add(RecordType type, std::string_view payload);
  // Writes and syncs the batch. After an error the journal takes no more and every call repeats the error.
  Result<void> commit();

 private:
  Journal(std::shared_ptr<void> lock, std::unique_ptr<AppendFile> file, std::uint64_t next)
      : lock_(std::move(lock)), file_(std::move(file)), next_(next) {}
  std::shared_ptr<void> lock_;
  std::unique_ptr<AppendFile> file_;
  std::uint64_t next_ = 0;
  std::string batch_;
  std::vector<Error> failed_;
};

struct Journal::Opened {
  Journal journal;
  ReadRecords read;
};

}  // namespace cupilot
