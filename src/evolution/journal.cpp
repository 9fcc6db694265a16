#include "evolution/journal.hpp"

namespace cupilot {
namespace {

std::string lock_path(const std::string& run_dir) { return run_dir + "/lock"; }

Result<void> set_torn_tail_aside(Host& host, const std::string& run_dir, std::string_view tail) {
  int number = 1;
  while (host.exists(journal_path(run_dir) + ".torn-" + std::to_string(number))) ++number;
  return host.write_file_atomically(journal_path(run_dir) + ".torn-" + std::to_string(number), tail, true);
}

Result<ReadRecords> checked(ReadRecords read, const std::string& run_dir) {
  if (read.records.empty()) {
    return Error{ErrorCode::usage,
                 journal_path(run_dir) + " holds no whole record: " + (read.damage.empty() ? "it is empty" : read.damage),
                 "nothing was found yet; remove the directory and start again"};
  }
  if (read.records.front().type != static_cast<std::uint32_t>(RecordType::header)) {
    return Error{ErrorCode::usage, journal_path(run_dir) + " does not start with a header", "this is no journal of cupilot"};
  }
  if (auto header = header_from(read.records.front().payload); !header) return std::move(header.error()).while_doing(run_dir);
  return read;
}

}  // namespace

std::string journal_path(const std::string& run_dir) { return run_dir + "/journal"; }

Result<ReadRecords> read_journal(Host& host, const std::string& run_dir) {
  if (!host.exists(journal_path(run_dir))) {
    return Error{ErrorCode::usage, run_dir + " is no run directory: it has no journal", "give the DIR of an earlier --run DIR"};
  }
  auto bytes = host.read_file(journal_path(run_dir));
  if (!bytes) return bytes.error();
  return checked(read_records(*bytes), run_dir);
}

Result<Journal> Journal::create(Host& host, const std::string& run_dir) {
  if (auto made = host.make_directories(run_dir); !made) return made.error();
  auto lock = host.lock(lock_path(run_dir));
  if (!lock) return lock.error();
  if (host.exists(journal_path(run_dir))) {
    // A run that died before its header was whole found nothing; its directory may be used.
    auto bytes = host.read_file(journal_path(run_dir));
    if (!bytes) return bytes.error();
    if (!read_records(*bytes).records.empty() || bytes->size() > (1u << 20)) {
      return Error{ErrorCode::usage, run_dir + " already holds a run",
                   "continue it with `cupilot resume " + run_dir + "`, or choose another --run directory"};
    }
  }
  auto file = host.open_append(journal_path(run_dir), 0);
  if (!file) return file.error();
  return Journal(std::move(*lock), std::move(*file), 0);
}

Result<Journal::Opened> Journal::open(Host& host, const std::string& run_dir) {
  if (!host.exists(journal_path(run_dir))) return read_journal(host, run_dir).error();
  auto lock = host.lock(lock_path(run_dir));
  if (!lock) return lock.error();
  auto bytes = host.read_file(journal_path(run_dir));
  if (!bytes) return bytes.error();
  auto read = checked(read_records(*bytes), run_dir);
  if (!read) return read.error();
  std::int64_t truncate_to = -1;
  if (!read->damage.empty()) {
    auto aside = set_torn_tail_aside(host, run_dir, std::string_view(*bytes).substr(read->valid_bytes));
    if (!aside) return aside.error();
    truncate_to = static_cast<std::int64_t>(read->valid_bytes);
  }
  auto file = host.open_append(journal_path(run_dir), truncate_to);
  if (!file) return file.error();
  const std::uint64_t next = read->records.size();
  return Opened{Journal(std::move(*lock), std::move(*file), next), std::move(*read)};
}

void Journal::add(RecordType type, std::string_view payload) {
  batch_ += frame(static_cast<std::uint32_t>(type), next_++, payload);
}

Result<void> Journal::commit() {
  if (!failed_.empty()) return failed_.front();
  if (batch_.empty()) return {};
  auto done = file_->append(batch_);
  if (done) done = file_->sync();
  batch_.clear();
  if (!done) failed_.push_back(done.error());
  return done;
}

}  // namespace cupilot
