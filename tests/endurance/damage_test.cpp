// Journals that a crash, a disk or a stranger damaged: recovered to a prefix, or refused with a message that says why.
#include "catch.hpp"
#include "endurance/short_run.hpp"
#include "evolution/run_files.hpp"
#include "evolution/run_state.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

constexpr int stride = sanitized ? 5 : 1;

// What opening finds of damaged bytes: a prefix of the records, the rest set aside; or a refusal that names the journal.
void check_opened(ShortRun& run, const std::string& bytes, const std::vector<FramedRecord>& records) {
  run.put_journal(bytes);
  const auto opened = Journal::open(run.host, "run");
  if (!opened) {
    CHECK(opened.error().code == ErrorCode::usage);
    CHECK(opened.error().message.find("run/journal") != std::string::npos);
    CHECK_FALSE(opened.error().hint.empty());
    const bool nothing_whole = read_records(bytes).records.empty();
    CHECK(nothing_whole);
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
  REQUIRE(run.go_on());
  CHECK(run.essence() == expected);
}

}  // namespace

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
    if (lost % (512 * stride) == 1) check_ends_alike(bytes.substr(0, bytes.size() - lost), expected);
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
    const auto at = static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(flip % 2 == 0 ? 2500 : bytes.size())));
    const auto bit = static_cast<int>(rng.below(8));
    INFO("bit " << bit << " of byte " << at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
    ShortRun run;
    check_opened(run, damaged, records);
    if (flip % (250 * stride) == stride) check_ends_alike(damaged, expected);
  }
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
  for (const std::string& text : {std::string(), std::string("// cupilot: {"), other.substr(0, other.size() / 2), other}) {
    REQUIRE(whole.host.write_file_atomically(path_of(0), text, true));
    const std::string id = (*names)[0].substr(0, (*names)[0].size() - 3);
    CHECK_FALSE(kept_source(whole.host, "run", id));
  }
  // All that a run had kept when it was cut is replaced by something else.
  const std::string bytes = whole.journal();
  ShortRun run;
  run.put_journal(bytes.substr(0, bytes.size() / 2));
  for (std::size_t i = 0; i < names->size(); ++i) REQUIRE(run.host.write_file_atomically(path_of(i), other, true));
  const auto report = run.go_on();
  REQUIRE(report);
  CHECK(run.essence() == expected);
  REQUIRE(report->best);
  CHECK(kernel_id(report->best->candidate.source) == report->best->candidate.kernel_id);
}
