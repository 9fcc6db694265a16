// Journals that a crash, a disk or a stranger damaged: recovered to a prefix, or refused with a
// message that says why.
#include <set>

#include "catch.hpp"
#include "endurance/short_run.hpp"
#include "evolution/journal/run_files.hpp"
#include "evolution/journal/run_state.hpp"
#include "evolution/journal/tally.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

const int stride = sanitized() ? 9 : 1;  // odd: every second flip is in the first record

// What opening finds of damaged bytes: a prefix of the records, the rest set aside; or a refusal
// that names the journal.
void check_opened(ShortRun& run, const std::string& bytes,
                  const std::vector<FramedRecord>& records) {
  run.put_journal(bytes);
  const auto opened = Journal::open(run.host, "run");
  if (!opened) {
    CHECK(opened.error().code == ErrorCode::usage);
    CHECK(opened.error().message.find("run/journal") != std::string::npos);
    CHECK_FALSE(opened.error().hint.empty());
    const bool nothing_whole = read_records(bytes).records.empty();
    const bool damaged = opened.error().message.find("is damaged") != std::string::npos;
    CHECK((nothing_whole || damaged));
    const bool unchanged = run.journal() == bytes && !run.host.exists(torn_path("run", 1));
    CHECK(unchanged);
    return;
  }
  const bool prefix = is_prefix(opened->read.records, records);
  CHECK(prefix);
  if (bytes.size() % 16 == 0) CHECK(fold(opened->read));
  const bool cut = run.journal() == bytes.substr(0, opened->read.valid_bytes);
  CHECK(cut);
}

void check_ends_alike(const std::string& bytes, const std::string& expected) {
  ShortRun run;
  run.put_journal(bytes);
  REQUIRE(run.go_on_as_told());
  CHECK(run.essence() == expected);
}

// A journal, and where in it each batch ends that was synced by itself.
struct Batches {
  std::string journal;
  std::vector<std::size_t> ends;
  std::vector<FramedRecord> records;
  Batches() {
    ShortRun run;
    run.host.on_durable = [&](const std::string& path, std::string_view bytes) {
      if (path == journal_path("run") && !bytes.empty())
        ends.push_back((ends.empty() ? 0 : ends.back()) + bytes.size());
    };
    REQUIRE(run.go_on());
    journal = run.journal();
    records = read_records(journal).records;
    REQUIRE(ends.back() == journal.size());
  }
};

bool of_one_type(const std::vector<FramedRecord>& records, std::int64_t from, std::size_t to) {
  std::set<std::uint32_t> types;
  for (const FramedRecord& record : records) {
    if (record.at > from && record.at < static_cast<std::int64_t>(to)) types.insert(record.type);
  }
  return types.size() == 1 && (*types.begin() == 3 || *types.begin() == 4);
}

// `bytes` end at `end` and are damaged in the record `at`, which lies in the last batch or was
// synced before it was written.
void check_hole(const std::string& bytes, const FramedRecord& at, bool in_last_batch,
                const Batches& whole, std::size_t end) {
  ShortRun run;
  run.put_journal(bytes);
  const auto opened = Journal::open(run.host, "run");
  const std::string place = "at byte " + std::to_string(at.at);
  std::int64_t behind = 0;
  for (const FramedRecord& one : whole.records)
    behind += one.at > at.at && one.at < static_cast<std::int64_t>(end) ? 1 : 0;
  if (opened) {
    // Where a synced hole passes for a torn tail, nothing tells them apart.
    CHECK((in_last_batch || of_one_type(whole.records, at.at, end)));
    CHECK(opened->notice.find(place) != std::string::npos);
    CHECK(opened->notice.find("run/journal.torn-1") != std::string::npos);
    if (behind > 0)
      CHECK(opened->notice.find(std::to_string(behind) + " whole records") != std::string::npos);
    CHECK(is_prefix(opened->read.records, whole.records));
    CHECK(run.journal() + *run.host.read_file(torn_path("run", 1)) == bytes);
    return;
  }
  CHECK_FALSE((in_last_batch && at.sequence > 0));
  CHECK(opened.error().code == ErrorCode::usage);
  if (behind > 0) {
    CHECK(opened.error().message.find(place) != std::string::npos);
    CHECK(opened.error().message.find(std::to_string(behind) + " whole records") !=
          std::string::npos);
  }
  CHECK(run.journal() == bytes);
  CHECK_FALSE(run.host.exists(torn_path("run", 1)));
}

// A run that is still written: the end of its journal grows between two looks.
struct GrowingHost : SimHost {
  GrowingHost(std::string first, std::string later)
      : SimHost(Rng(1)), shown(std::move(first)), grown(std::move(later)) {}
  std::string shown, grown;
  Result<std::string> read_part(const std::string&, std::int64_t offset,
                                std::int64_t size) override {
    const auto from = std::min(static_cast<std::size_t>(offset), shown.size());
    std::string part = shown.substr(from, static_cast<std::size_t>(size));
    shown = grown;
    return part;
  }
};

}  // namespace

TEST_CASE("a journal that grows while it is read is not taken for a damaged one") {
  const Batches whole;
  for (std::size_t i = 2; i < whole.records.size(); ++i) {
    INFO("the first look ends within record " << i);
    GrowingHost host(whole.journal.substr(0, static_cast<std::size_t>(whole.records[i].at) + 10),
                     whole.journal);
    REQUIRE(host.write_file_atomically(journal_path("run"), whole.journal, true));
    JournalReader reader(host, "run");
    std::size_t records = 0;
    for (auto part = reader.next();; part = reader.next()) {
      REQUIRE(part);
      if (part->empty()) break;
      records += part->size();
    }
    CHECK(records == i);
    CHECK(reader.damage().find("a torn record at byte") == 0);
  }
}

TEST_CASE("a journal cut at each byte of its last 4 KiB is recovered to a prefix") {
  ShortRun whole;
  REQUIRE(whole.go_on());
  const std::string bytes = whole.journal(), expected = whole.essence();
  const auto records = read_records(bytes).records;
  REQUIRE(bytes.size() > 4096);
  for (std::size_t lost = 1; lost <= 4096; lost += stride) {
    INFO(lost << " bytes lost");
    ShortRun run;
    check_opened(run, bytes.substr(0, bytes.size() - lost), records);
    if (lost % (512 * stride) == 1)
      check_ends_alike(bytes.substr(0, bytes.size() - lost), expected);
  }
}

TEST_CASE("a journal with a flipped bit is recovered to the records before it, or refused") {
  ShortRun whole;
  REQUIRE(whole.go_on());
  const std::string bytes = whole.journal(), expected = whole.essence();
  const auto records = read_records(bytes).records;
  Rng rng(11);
  for (int flip = 0; flip < 2000; flip += stride) {
    // Half of them in the first record, where nothing can be recovered.
    const auto at = static_cast<std::size_t>(
        rng.below(static_cast<std::int64_t>(flip % 2 == 0 ? 2500 : bytes.size())));
    const auto bit = static_cast<int>(rng.below(8));
    INFO("bit " << bit << " of byte " << at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
    ShortRun run;
    check_opened(run, damaged, records);
    if (flip % (250 * stride) == stride) check_ends_alike(damaged, expected);
  }
}

TEST_CASE("a hole that a crash may leave is cut off and told, one that was synced is refused") {
  const Batches whole;
  Rng rng(12);
  for (std::size_t last = 0; last < whole.ends.size(); last += stride) {
    const std::size_t end = whole.ends[last], begin = last == 0 ? 0 : whole.ends[last - 1];
    for (const FramedRecord& record : whole.records) {
      const auto at = static_cast<std::size_t>(record.at);
      if (at >= end) break;
      const std::size_t size = frame_overhead + record.payload.size();
      std::string bytes = whole.journal.substr(0, end);
      const bool zeroed = rng.chance(0.5);
      if (zeroed) bytes.replace(at, size, size, '\0');
      if (!zeroed)
        bytes[at + static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(size)))] ^= 16;
      INFO("journal of " << end << " bytes, record " << record.sequence
                         << (zeroed ? " zeroed" : " flipped"));
      check_hole(bytes, record, at >= begin, whole, end);
    }
  }
}

TEST_CASE("a batch holds proposals, or results, or one other record") {
  SimHost host{Rng(1)};
  auto journal = Journal::create(host, "run");
  REQUIRE(journal);
  std::uint64_t records = 0;
  std::vector<std::size_t> sizes;
  host.on_durable = [&](const std::string&, std::string_view bytes) {
    sizes.push_back(read_records(bytes, 0, records).records.size());
    records += sizes.back();
  };
  for (const RecordType type :
       {RecordType::proposal, RecordType::proposal, RecordType::result, RecordType::proposal,
        RecordType::decision, RecordType::decision, RecordType::end}) {
    journal->add(type, "{}");
  }
  REQUIRE(journal->commit());
  CHECK(sizes == std::vector<std::size_t>{2, 1, 1, 1, 1, 1});
}

TEST_CASE("what a resume set aside is told by it and by reports after it") {
  const Batches whole;
  std::size_t torn = 0;
  for (const std::size_t end : whole.ends) torn = end < whole.journal.size() / 2 ? end : torn;
  ShortRun run;
  run.put_journal(whole.journal.substr(0, torn + 10));
  struct Notices : SearchObserver {
    std::vector<std::string> all;
    void on_notice(const std::string& notice) override { all.push_back(notice); }
  } told;
  run.options.observer = &told;
  const auto report = run.go_on();
  REQUIRE(report);
  const std::string expected = "run/journal ended in a torn record at byte " +
                               std::to_string(torn) +
                               ", as a crash leaves it; what began there is in run/journal.torn-1, "
                               "and the search goes on from before it";
  CHECK(std::count(told.all.begin(), told.all.end(), expected) == 1);
  CHECK(std::count(report->notices.begin(), report->notices.end(), expected) == 1);
  // Whole records are told of for good.
  REQUIRE(run.host.write_file_atomically(torn_path("run", 1), "xx" + frame(4, 9, "{}"), true));
  const auto walk = walk_run(run.host, "run");
  REQUIRE(walk);
  const auto& notices = walk->summary.report.notices;
  CHECK(std::any_of(notices.begin(), notices.end(), [](const std::string& notice) {
    return notice.find("run/journal.torn-1 holds 1 whole records") == 0;
  }));
}

TEST_CASE("sources that a crash mixed up are told from the right ones and written anew") {
  ShortRun whole;
  REQUIRE(whole.go_on());
  const std::string expected = whole.essence();
  auto names = whole.host.list("run/blobs");
  REQUIRE(names);
  REQUIRE(names->size() > 6);
  const auto path_of = [&](std::size_t i) { return "run/blobs/" + (*names)[i % names->size()]; };
  const std::string other = *whole.host.read_file(path_of(1));
  for (const std::string& text :
       {std::string(), std::string("// cupilot: {"), other.substr(0, other.size() / 2), other}) {
    REQUIRE(whole.host.write_file_atomically(path_of(0), text, true));
    const std::string id = (*names)[0].substr(0, (*names)[0].size() - 3);
    CHECK_FALSE(kept_source(whole.host, "run", id));
  }
  // All that a run had kept when it was cut is replaced by something else.
  const std::string bytes = whole.journal();
  ShortRun run;
  run.put_journal(bytes.substr(0, bytes.size() / 2));
  for (std::size_t i = 0; i < names->size(); ++i)
    REQUIRE(run.host.write_file_atomically(path_of(i), other, true));
  const auto report = run.go_on();
  REQUIRE(report);
  CHECK(run.essence() == expected);
  REQUIRE(report->best);
  CHECK(kernel_id(report->best->candidate.source) == report->best->candidate.kernel_id);
}
