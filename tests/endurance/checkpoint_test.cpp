// A checkpoint spares a resume the fold of what lies before it and changes nothing else, whatever
// became of the files.
#include "evolution/journal/checkpoint.hpp"
#include "catch.hpp"
#include "endurance/short_run.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

constexpr std::int64_t evaluations = 60;

void put_checkpoint(ShortRun& run, const std::string& bytes) {
  REQUIRE(run.host.write_file_atomically(checkpoint_path("run"), bytes, true));
}

std::string bytes_of(const Checkpoint& c, std::size_t most = largest_payload) {
  return checkpoint_bytes(c.mark, c.open, Pieces(c.search), Pieces(c.ledger), Pieces(c.known), most)
      .joined();
}

// A whole run, and its last checkpoint.
struct Whole {
  ShortRun run{evaluations};
  std::string journal, expected, checkpoint;
  Whole() {
    REQUIRE(run.go_on());
    journal = run.journal();
    expected = run.essence();
    auto bytes = run.host.read_file(checkpoint_path("run"));
    REQUIRE(bytes);
    checkpoint = *bytes;
  }
  std::size_t end_of(std::uint64_t records) const {
    const auto all = read_records(journal).records;
    return records < all.size() ? static_cast<std::size_t>(all[records].at) : journal.size();
  }
};

void check_ends_alike(const Whole& whole, const std::string& journal,
                      const std::string& checkpoint) {
  ShortRun run(evaluations);
  run.put_journal(journal);
  put_checkpoint(run, checkpoint);
  REQUIRE(run.go_on_as_told());
  CHECK(run.essence() == whole.expected);
}

}  // namespace

TEST_CASE("a resume goes on from the checkpoint and ends as the whole run") {
  const Whole whole;
  const auto checkpoint = checkpoint_from(whole.checkpoint);
  REQUIRE(checkpoint);
  const std::size_t at = whole.end_of(checkpoint->mark.records);
  REQUIRE(at < whole.journal.size());
  ShortRun run(evaluations);
  run.put_journal(whole.journal.substr(0, at));
  const auto opened = Journal::open(run.host, "run", checkpoint->mark);
  REQUIRE(opened);
  CHECK(opened->matches);
  // The header and the baselines are all that is read of it.
  CHECK(opened->read.records.size() == 2);
  CHECK(opened->journal.mark() == checkpoint->mark);
  // At it, and at each record behind it.
  const auto records = read_records(whole.journal).records;
  for (std::uint64_t end = checkpoint->mark.records; end <= records.size();
       end += sanitized() ? 3 : 1) {
    INFO("the journal ends before record " << end);
    check_ends_alike(whole, whole.journal.substr(0, whole.end_of(end)), whole.checkpoint);
  }
}

TEST_CASE("a checkpoint in many frames is the checkpoint in few") {
  const Whole whole;
  const auto few = checkpoint_from(whole.checkpoint);
  REQUIRE(few);
  for (const std::size_t most : {100, 4096}) {
    const std::string bytes = bytes_of(*few, most);
    REQUIRE(read_records(bytes).records.size() > 10);
    const auto many = checkpoint_from(bytes);
    REQUIRE(many);
    const bool same =
        many->search == few->search && many->ledger == few->ledger && many->known == few->known;
    CHECK(same);
    check_ends_alike(whole, whole.journal.substr(0, whole.end_of(few->mark.records)), bytes);
  }
}

TEST_CASE("a checkpoint is used, not only let pass") {
  const Whole whole;
  auto checkpoint = checkpoint_from(whole.checkpoint);
  REQUIRE(checkpoint);
  // One that claims another state of the same journal is believed, and ends elsewhere.
  const auto records = read_records(checkpoint->search).records;
  std::string state = records[0].payload;
  const std::string evaluated = "\"evaluated\":";
  const std::size_t at = state.find(evaluated) + evaluated.size();
  state.replace(at, state.find(',', at) - at, std::to_string(evaluations));
  checkpoint->search.clear();
  for (const FramedRecord& part : records) {
    checkpoint->search +=
        frame(part.type, part.sequence, part.sequence == 0 ? state : part.payload);
  }
  ShortRun run(evaluations);
  run.put_journal(whole.journal.substr(0, whole.end_of(checkpoint->mark.records)));
  put_checkpoint(run, bytes_of(*checkpoint));
  REQUIRE(run.go_on());
  CHECK(run.essence() != whole.expected);
}

TEST_CASE(
    "a journal cut before or damaged within what a checkpoint stands for is folded without it") {
  const Whole whole;
  const auto checkpoint = checkpoint_from(whole.checkpoint);
  REQUIRE(checkpoint);
  Rng rng(3);
  const auto end = static_cast<std::int64_t>(whole.end_of(checkpoint->mark.records));
  const auto first = static_cast<std::int64_t>(whole.end_of(1));
  for (int i = 0; i < (sanitized() ? 6 : 24); ++i) {
    std::string bytes = whole.journal;
    const auto at = static_cast<std::size_t>(first + rng.below(end - first));
    INFO((i % 2 == 0 ? "cut at byte " : "flipped at byte ") << at);
    if (i % 2 == 0) bytes.resize(at);
    if (i % 2 != 0) bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8)));
    check_ends_alike(whole, bytes, whole.checkpoint);
  }
}

TEST_CASE(
    "a checkpoint that is damaged, of another program or of another journal is as good as none") {
  const Whole whole;
  const auto checkpoint = checkpoint_from(whole.checkpoint);
  REQUIRE(checkpoint);
  const std::string half = whole.journal.substr(0, whole.end_of(checkpoint->mark.records + 3));
  Rng rng(4);
  for (int i = 0; i < 400; ++i) {
    std::string bytes = whole.checkpoint;
    const auto at = static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size())));
    INFO((i % 2 == 0 ? "cut at byte " : "flipped at byte ") << at);
    if (i % 2 == 0) bytes.resize(at);
    if (i % 2 != 0) bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8)));
    CHECK_FALSE(checkpoint_from(bytes));
    if (i % (sanitized() ? 200 : 40) < 2) check_ends_alike(whole, half, bytes);
  }
  std::string older = whole.checkpoint;
  auto records = read_records(older).records;
  const std::string format = "\"cupilot_checkpoint\":" + std::to_string(checkpoint_format);
  REQUIRE(records[0].payload.find(format) != std::string::npos);
  records[0].payload.replace(records[0].payload.find(format), format.size(),
                             "\"cupilot_checkpoint\":0");
  older.clear();
  for (const FramedRecord& part : records) older += frame(part.type, part.sequence, part.payload);
  CHECK_FALSE(checkpoint_from(older));
  ShortRun other(evaluations);
  other.options.search.seed = 99;
  REQUIRE(other.go_on());
  check_ends_alike(whole, half, *other.host.read_file(checkpoint_path("run")));
  // Whose parts are whole, but not of a search.
  Checkpoint hollow = *checkpoint;
  hollow.search = frame(0, 0, "{}");
  check_ends_alike(whole, half, bytes_of(hollow));
}

TEST_CASE("a raised limit continues from the checkpoint as from the fold") {
  const Whole whole;
  const auto raised = [&](const std::string& checkpoint) {
    ShortRun run(evaluations);
    run.put_journal(whole.journal);
    put_checkpoint(run, checkpoint);
    run.options.raise_evaluations = evaluations + 30;
    REQUIRE(run.go_on());
    run.options.raise_evaluations = evaluations + 40;
    REQUIRE(run.go_on());
    return run.essence();
  };
  CHECK(raised(whole.checkpoint) == raised("none"));
}

TEST_CASE("a checkpoint is as large as what was found, whatever the budget") {
  ShortRun small(100), large(1'000'000);
  for (ShortRun* run : {&small, &large}) {
    run->options.search.max_generations = 12;
    REQUIRE(run->go_on());
  }
  const auto size = [](ShortRun& run) {
    return run.host.read_file(checkpoint_path("run"))->size();
  };
  CHECK(size(large) < size(small) + 100);
  CHECK(checkpoint_from(*large.host.read_file(checkpoint_path("run"))));
}

TEST_CASE("a checkpoint that cannot be written is told and changes nothing") {
  const Whole whole;
  struct Notices : SearchObserver {
    std::string all;
    void on_notice(const std::string& notice) override { all += notice + "\n"; }
  };
  for (int call = 0; call < 400; ++call) {
    ShortRun run(evaluations);
    Notices told;
    run.options.observer = &told;
    run.host.fail_call(call, DiskFault::full);
    const auto report = run.go_on();
    if (run.host.struck() != checkpoint_path("run")) continue;
    REQUIRE(report);
    CHECK(run.essence() == whole.expected);
    CHECK(told.all.find("run/checkpoint: No space left on device; the search goes on") !=
          std::string::npos);
    CHECK(run.host.exists(checkpoint_path("run")));  // a later one
    return;
  }
  FAIL("no call was a checkpoint's");
}
