#include "evolution/journal/events.hpp"

#include <algorithm>
#include <utility>

namespace cupilot {
namespace {

std::string lock_path(const std::string& run_dir) { return run_dir + "/lock"; }

// Returns the path that it now has.
Result<std::string> set_torn_tail_aside(Host& host, const std::string& run_dir,
                                        std::string_view tail) {
  int number = 1;
  while (host.exists(torn_path(run_dir, number))) ++number;
  if (auto written = host.write_file_atomically(torn_path(run_dir, number), tail, true); !written)
    return written.error();
  return torn_path(run_dir, number);
}

constexpr std::int64_t bytes_a_part = 8 << 20;

// A directory of many runs, each in a folder of its own.
std::optional<Error> holds_many(Host& host, const std::string& run_dir) {
  if (host.exists(journal_path(run_dir + "/shape-1"))) {
    return Error{
        ErrorCode::usage,
        run_dir + " is the directory of a portfolio: each of its shapes has a run of its own",
        "name one, such as " + run_dir +
            "/shape-1; the command that began the portfolio goes on with it"};
  }
  if (host.exists(run_dir + "/suite.json")) {
    return Error{ErrorCode::usage,
                 run_dir + " is the directory of a suite: each of its tasks has a run of its own",
                 "name one, such as " + run_dir + "/tasks/1; `cupilot suite --run " + run_dir +
                     "` shows the table"};
  }
  return std::nullopt;
}

Error no_journal(Host& host, const std::string& run_dir) {
  if (auto many = holds_many(host, run_dir)) return std::move(*many);
  return {ErrorCode::usage, run_dir + " is no run directory: it has no journal",
          "give the DIR of an earlier --run DIR"};
}

Result<void> check_first(const std::vector<FramedRecord>& records, const std::string& run_dir) {
  if (records.front().type != static_cast<std::uint32_t>(RecordType::header)) {
    return Error{ErrorCode::usage, journal_path(run_dir) + " does not start with a header",
                 "this is no journal of cupilot"};
  }
  if (auto header = header_from(records.front().payload); !header)
    return std::move(header.error()).while_doing(run_dir);
  return {};
}

// Records without those of the search up to `from`; nullopt: the journal does not begin so.
struct ReadFrom {
  ReadRecords read;
  RecordMark end;
  Beyond beyond;
  std::string tail;
  bool skipped = false;  // true if what lies before `from` was skipped
  std::size_t decisions_before = 0;
};

Result<std::optional<ReadFrom>> read_from(Host& host, const std::string& run_dir,
                                          const RecordMark& from = {}) {
  JournalReader reader(host, run_dir);
  ReadFrom all;
  RecordMark passed;
  for (auto part = reader.next();; part = reader.next()) {
    if (!part) return part.error();
    if (part->empty()) break;
    for (FramedRecord& record : *part) {
      const bool before = passed.records < from.records;
      passed.pass(record.checksum);
      if (passed.records == from.records && passed != from) return std::optional<ReadFrom>();
      all.skipped |= passed == from;
      if (before && is_of_the_search(record)) continue;
      if (before && static_cast<RecordType>(record.type) == RecordType::decision)
        ++all.decisions_before;
      all.read.records.push_back(std::move(record));
    }
  }
  all.read.valid_bytes = static_cast<std::size_t>(reader.valid_bytes());
  all.read.damage = reader.damage();
  all.beyond = reader.beyond();
  all.tail = reader.tail();
  all.end = reader.mark();
  return all.skipped || from.records == 0 ? std::optional(std::move(all)) : std::nullopt;
}

// A run that died before its header was whole found nothing: its directory may be used.
Result<void> clear_unborn(Host& host, const std::string& run_dir) {
  if (auto many = holds_many(host, run_dir)) {
    many->hint = "choose another --run directory";
    return std::move(*many);
  }
  if (!host.exists(journal_path(run_dir))) return {};
  auto bytes = host.read_file(journal_path(run_dir));
  if (!bytes) return bytes.error();
  if (bytes->empty()) return {};
  if (is_unborn(*bytes)) {
    auto aside = set_torn_tail_aside(host, run_dir, *bytes);
    return aside ? Result<void>() : aside.error();
  }
  return Error{
      ErrorCode::usage, run_dir + " already holds a run",
      "continue it with `cupilot resume " + run_dir + "`, or choose another --run directory"};
}

}  // namespace

std::string journal_path(const std::string& run_dir) { return run_dir + "/journal"; }

std::string torn_path(const std::string& run_dir, int number) {
  return journal_path(run_dir) + ".torn-" + std::to_string(number);
}

bool is_of_the_search(const FramedRecord& record) {
  const auto type = static_cast<RecordType>(record.type);
  return type == RecordType::proposal || type == RecordType::result;
}

Result<ReadRecords> read_journal(Host& host, const std::string& run_dir) {
  auto all = read_from(host, run_dir);
  if (!all) return all.error();
  return std::move((*all)->read);
}

Result<bool> JournalReader::read_on(std::int64_t size) {
  auto more = host_->read_part(journal_path(run_dir_),
                               valid_bytes_ + static_cast<std::int64_t>(rest_.size()), size);
  if (!more) return more.error();
  rest_ += *more;
  return static_cast<std::int64_t>(more->size()) == size;
}

// Tells by what lies behind the damage whether it is a torn tail.
Result<void> JournalReader::look_at_damage() {
  beyond_ = look_beyond(rest_, valid_bytes_, {mark_.records, proposals_});
  if (mark_.records == 0) return no_header(journal_path(run_dir_), damage_, beyond_);
  if (beyond_.after_a_sync) return damaged_journal(journal_path(run_dir_), damage_, beyond_);
  return {};
}

Result<std::vector<FramedRecord>> JournalReader::next() {
  if (valid_bytes_ == 0 && !ended_ && !host_->exists(journal_path(run_dir_)))
    return no_journal(*host_, run_dir_);
  while (!ended_) {
    const auto more = read_on(bytes_a_part);
    if (!more) return more.error();
    ReadRecords read = read_records(rest_, valid_bytes_, mark_.records);
    if (mark_.records == 0 && !read.records.empty()) {
      if (auto first = check_first(read.records, run_dir_); !first) return first.error();
    }
    for (const FramedRecord& record : read.records) mark_.pass(record.checksum);
    proposals_ +=
        std::count_if(read.records.begin(), read.records.end(), [](const FramedRecord& record) {
          return static_cast<RecordType>(record.type) == RecordType::proposal;
        });
    valid_bytes_ += static_cast<std::int64_t>(read.valid_bytes);
    rest_.erase(0, read.valid_bytes);
    ended_ = !*more || (!read.damage.empty() && !read.cut_short);
    if (ended_) damage_ = read.damage;
    // Not behind what was the end: a run that is still written may have made the last record whole
    // by now.
    for (bool unread = ended_ && *more; unread;) {
      const auto further = read_on(bytes_a_part);
      if (!further) return further.error();
      unread = *further;
    }
    if (ended_ && (!damage_.empty() || mark_.records == 0)) {
      if (auto looked = look_at_damage(); !looked) return looked.error();
    }
    if (!read.records.empty()) return std::move(read.records);
  }
  return std::vector<FramedRecord>();
}

Result<FramedRecord> record_at(Host& host, const std::string& run_dir, std::int64_t at) {
  std::int64_t size = bytes_a_part / 128;
  for (int attempt = 0; attempt < 2; ++attempt, size = largest_payload + frame_overhead) {
    auto bytes = host.read_part(journal_path(run_dir), at, size);
    if (!bytes) return bytes.error();
    FramedRecord record;
    if (first_record(*bytes, record)) return record;
  }
  return Error{ErrorCode::failure, journal_path(run_dir) + " was changed while it was read",
               "try again"};
}

Result<Journal> Journal::create(Host& host, const std::string& run_dir) {
  if (auto made = host.make_directories(run_dir); !made) return made.error();
  auto lock = host.lock(lock_path(run_dir));
  if (!lock) return lock.error();
  if (auto cleared = clear_unborn(host, run_dir); !cleared) return cleared.error();
  auto file = host.open_append(journal_path(run_dir), 0);
  if (!file) return file.error();
  return Journal(std::move(*lock), std::move(*file), {});
}

Result<Journal::Opened> Journal::open(Host& host, const std::string& run_dir,
                                      const RecordMark& from) {
  if (!host.exists(journal_path(run_dir))) return no_journal(host, run_dir);
  auto lock = host.lock(lock_path(run_dir));
  if (!lock) return lock.error();
  auto all = read_from(host, run_dir, from);
  if (all && !*all) all = read_from(host, run_dir);
  if (!all) return all.error();
  ReadFrom& found = **all;
  std::int64_t truncate_to = -1;
  std::string notice;
  if (!found.read.damage.empty()) {
    truncate_to = static_cast<std::int64_t>(found.read.valid_bytes);
    const auto aside = set_torn_tail_aside(host, run_dir, found.tail);
    if (!aside) return aside.error();
    notice =
        torn_notice(journal_path(run_dir), found.read.damage, found.beyond,
                    "what began there is in " + *aside + ", and the search goes on from before it");
  }
  auto file = host.open_append(journal_path(run_dir), truncate_to);
  if (!file) return file.error();
  // A killed process may not have synced its writes: of two such batches a crash could leave
  // the second alone.
  if (auto synced = (*file)->sync(); !synced) return synced.error();
  return Opened{Journal(std::move(*lock), std::move(*file), found.end), std::move(found.read),
                found.skipped, found.decisions_before, std::move(notice)};
}

void Journal::add(RecordType type, std::string_view payload) {
  const bool joins = type == last_ && (type == RecordType::proposal || type == RecordType::result);
  if (batches_.empty() || !joins) batches_.emplace_back();
  last_ = type;
  std::string& batch = batches_.back();
  add_frame(batch, static_cast<std::uint32_t>(type), mark_.records, payload);
  mark_.pass(checksum_of(batch));
}

Result<void> Journal::commit() {
  if (!failed_.empty()) return failed_.front();
  for (const std::string& batch : std::exchange(batches_, {})) {
    auto done = file_->append(batch);
    if (done) done = file_->sync();
    if (!done) failed_.push_back(done.error());
    if (!done) return done;
  }
  return {};
}

}  // namespace cupilot
