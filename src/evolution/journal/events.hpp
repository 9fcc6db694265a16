// The append-only journal of a run directory (docs/formats/journal.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/host.hpp>

#include "base/journal_damage.hpp"
#include "base/record_file.hpp"
#include "evolution/journal/records.hpp"

namespace cupilot {

std::string journal_path(const std::string& run_dir);
// The bytes that the resume of that number, from 1 on, set aside.
std::string torn_path(const std::string& run_dir, int number);

// A proposal or a result: nearly all of a long journal, and what a checkpoint holds instead.
bool is_of_the_search(const FramedRecord& record);

// Reads a journal piece by piece, so that a long one needs no more memory than a short one.
class JournalReader {
 public:
  JournalReader(Host& host, const std::string& run_dir) : host_(&host), run_dir_(run_dir) {}
  // The next records, some mebibytes of them; none: there are no more. Error{usage} when the first
  // ones are no journal's, or when it is damaged as no crash leaves it.
  Result<std::vector<FramedRecord>> next();
  // Covers what was read so far.
  const RecordMark& mark() const { return mark_; }
  std::int64_t valid_bytes() const { return valid_bytes_; }
  // Known at the end: what it looks like where it cannot be read, as ReadRecords says, and all
  // bytes from there on.
  const std::string& damage() const { return damage_; }
  const Beyond& beyond() const { return beyond_; }
  const std::string& tail() const { return rest_; }

 private:
  // At most so many bytes of those behind `rest_`; false: there are no more.
  Result<bool> read_on(std::int64_t size);
  Result<void> look_at_damage();

  Host* host_;
  std::string run_dir_;
  std::string rest_;  // begins at valid_bytes_
  RecordMark mark_;
  std::int64_t proposals_ = 0;
  Beyond beyond_;
  std::int64_t valid_bytes_ = 0;
  std::string damage_;
  bool ended_ = false;
};

// The record whose frame begins there.
Result<FramedRecord> record_at(Host& host, const std::string& run_dir, std::int64_t at);

// Records of a run directory, without locking it. Error{usage} when there is none or its format is
// another one.
Result<ReadRecords> read_journal(Host& host, const std::string& run_dir);

// The journal held open for writing; the run directory is locked as long as it lives.
class Journal {
 public:
  // Makes the directory and its journal. Error{usage} when the directory already holds a journal or
  // is locked.
  static Result<Journal> create(Host& host, const std::string& run_dir);
  // Opens an existing one. A torn tail is copied to journal.torn-N, then cut off. `from`: a
  // checkpoint's.
  struct Opened;
  static Result<Opened> open(Host& host, const std::string& run_dir, const RecordMark& from = {});

  // Adds to the batch; nothing is written yet.
  void add(RecordType type, std::string_view payload);
  // Writes and syncs: proposals with proposals, results with results, any other record by itself.
  // After an error the journal takes no more and every call repeats the error.
  Result<void> commit();
  // Covers all that was added.
  const RecordMark& mark() const { return mark_; }

 private:
  Journal(std::shared_ptr<void> lock, std::unique_ptr<AppendFile> file, const RecordMark& mark)
      : lock_(std::move(lock)), file_(std::move(file)), mark_(mark) {}
  std::shared_ptr<void> lock_;
  std::unique_ptr<AppendFile> file_;
  RecordMark mark_;
  std::vector<std::string> batches_;
  RecordType last_ = RecordType::header;
  std::vector<Error> failed_;
};

struct Journal::Opened {
  Journal journal;
  ReadRecords read;
  // True if the journal begins as `from` says: proposals and results up to there were left out,
  // decisions were not.
  bool matches = false;
  std::size_t decisions_before = 0;
  std::string notice;  // names a tail that was set aside; "": there was none
};

}  // namespace cupilot
