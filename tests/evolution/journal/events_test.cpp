#include "evolution/journal/events.hpp"

#include "catch.hpp"
#include "evolution/support.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

std::string three_frames() {
  return frame(1, 0, "first") + frame(2, 1, "") + frame(3, 2, std::string(300, 'x'));
}

}  // namespace

TEST_CASE("CRC-32C matches its published check value, also in pieces") {
  CHECK(crc32c("123456789") == 0xE3069283u);
  CHECK(crc32c("6789", crc32c("12345")) == 0xE3069283u);
}

TEST_CASE("records come back as they were framed") {
  const ReadRecords read = read_records(three_frames());
  REQUIRE(read.records.size() == 3);
  CHECK(read.damage.empty());
  CHECK(read.records[0].payload == "first");
  CHECK(read.records[2].type == 3);
  CHECK(read.valid_bytes == three_frames().size());
}

TEST_CASE("a journal cut at any byte gives its whole records") {
  const std::string bytes = three_frames();
  const std::size_t ends[] = {0, frame_overhead + 5, 2 * frame_overhead + 5, bytes.size()};
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const ReadRecords read = read_records(bytes.substr(0, cut));
    std::size_t whole = 0;
    while (whole < 3 && ends[whole + 1] <= cut) ++whole;
    INFO("cut at " << cut);
    CHECK(read.records.size() == whole);
    CHECK(read.valid_bytes == ends[whole]);
    CHECK(read.damage.empty() == (cut == ends[whole]));
  }
}

TEST_CASE("no flipped bit passes for a record") {
  const std::string bytes = three_frames();
  const ReadRecords whole = read_records(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const ReadRecords read = read_records(damaged);
    INFO("bit " << bit);
    CHECK(read.records.size() < 3);
    CHECK_FALSE(read.damage.empty());
    for (std::size_t i = 0; i < read.records.size(); ++i)
      CHECK(read.records[i].payload == whole.records[i].payload);
  }
}

TEST_CASE("records out of sequence end the reading") {
  const ReadRecords read = read_records(frame(1, 0, "a") + frame(1, 2, "c"));
  CHECK(read.records.size() == 1);
  CHECK(read.damage.find("sequence") != std::string::npos);
}

TEST_CASE("whole records are found behind any damage, and nothing else is") {
  const std::string bytes = three_frames();
  const auto count = [](const std::string& text) {
    std::vector<std::int64_t> places;
    find_records(text, 100, [&](const FramedRecord& record) { places.push_back(record.at - 100); });
    return places;
  };
  const std::int64_t second = frame_overhead + 5, third = 2 * frame_overhead + 5;
  CHECK(count(bytes) == std::vector<std::int64_t>{0, second, third});
  CHECK(count("some text of no frame" + bytes.substr(3)) ==
        std::vector<std::int64_t>{18 + second, 18 + third});
  CHECK(count(bytes.substr(0, bytes.size() - 1)) == std::vector<std::int64_t>{0, second});
  CHECK(count(std::string(4096, '\0')).empty());
  for (int bit = 0; bit < 8 * static_cast<int>(frame_overhead + 5); ++bit) {
    std::string damaged = bytes;
    damaged[static_cast<std::size_t>(bit / 8)] =
        static_cast<char>(damaged[static_cast<std::size_t>(bit / 8)] ^ (1 << (bit % 8)));
    INFO("bit " << bit);
    CHECK(count(damaged) == std::vector<std::int64_t>{second, third});
  }
}

TEST_CASE("a directory is begun in again only where a run left less than its header") {
  struct Row {
    const char* what;
    std::string bytes;
    bool begun;
  };
  const std::string header = frame(1, 0, std::string(300, 'h')), behind = frame(2, 1, "b");
  std::string broken = header, longer = header;
  broken[100] = static_cast<char>(broken[100] ^ 4);
  longer[0] = static_cast<char>(longer[0] ^ 64);
  const std::vector<Row> rows = {
      {"nothing", "", true},
      {"three bytes", header.substr(0, 3), true},
      {"half a header", header.substr(0, 150), true},
      {"a header but its last byte", header.substr(0, header.size() - 1) + '\0', true},
      {"zeros", std::string(700, '\0'), true},
      {"a run", header + behind, false},
      {"a damaged header with a record behind it", broken + behind, false},
      {"one whose length is damaged", longer + behind, false},
      {"a damaged header with half a record behind it", broken + behind.substr(0, 15), false},
      {"a text of somebody",
       "a list of what is to be done today, by no means a journal of a search", false}};
  for (const Row& row : rows) {
    INFO(row.what);
    const TempDir dir;
    REQUIRE(real_host().make_directories(dir / "run"));
    std::ofstream(dir / "run/journal", std::ios::binary) << row.bytes;
    const bool begun = static_cast<bool>(Journal::create(real_host(), dir / "run"));
    CHECK(begun == row.begun);
    CHECK(read_all(dir / "run/journal") == (row.begun ? "" : row.bytes));
    if (row.begun) CHECK(read_all(dir / "run/journal.torn-1") == row.bytes);
  }
}

TEST_CASE("what is no journal of ours is refused with its reason") {
  const TempDir dir;
  REQUIRE(real_host().make_directories(dir / "run"));
  const auto put = [&](const std::string& bytes) {
    std::ofstream(dir / "run/journal", std::ios::binary) << bytes;
  };
  std::string expected;
  SECTION("no directory") {
    auto read = read_journal(real_host(), dir / "nowhere");
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::usage);
    return;
  }
  SECTION("text") {
    put("this is no journal, but a text of some length");
    expected = "no whole record";
  }
  SECTION("empty") {
    put("");
    expected = "empty";
  }
  SECTION("another first record") {
    put(frame(4, 0, "{}"));
    expected = "header";
  }
  SECTION("a damaged header with records behind it") {
    std::string bytes = frame(1, 0, "{}") + frame(2, 1, "{}") + frame(3, 2, "{}");
    bytes[17] = 'x';
    put(bytes);
    expected =
        "is damaged: a record with a wrong checksum at byte 0, which is its header; 2 whole "
        "records lie behind it";
  }
  SECTION("another version") {
    put(frame(1, 0, R"({"cupilot_journal": 99, "program": "7.0"})"));
    expected = "format 99, written by cupilot 7.0";
  }
  auto read = read_journal(real_host(), dir / "run");
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::usage);
  CHECK(read.error().message.find(expected) != std::string::npos);
}

TEST_CASE("records survive their JSON") {
  ResultRecord record;
  record.slot = 12;
  record.generation = 2;
  record.candidate.kernel_hash = "abc";
  record.candidate.id = 13;
  record.candidate.strategy.uses = {{"v1", {{"value", 2}}, {}, {}}};
  record.candidate.strategy_id = strategy_id(record.candidate.strategy);
  record.candidate.evaluated = true;
  Accepted accepted;
  accepted.measurement.time_us = 1.0 / 3.0;
  accepted.measurement.samples_us = {0.1, 0.2};
  accepted.measurement.counts[Counter::barriers] = {5, 4, 6, CountHow::exact};
  accepted.measurement.counts.source = CounterSource::interpreted;
  accepted.verdict.bottlenecks = {{Resource::tensor_pipe, 0.75}};
  accepted.verdict.zone = Zone::compute;
  accepted.verdict.stalls = {{Stall::barrier, 0.75}, {Stall::misc, 0.125}};
  accepted.verdict.digest = {"a \"quoted\" sentence"};
  accepted.verification.proved = Precision::bf16;
  accepted.verification.cases.resize(1);
  accepted.verification.cases[0].what.workload.sizes = {{"m", 7}};
  record.candidate.outcome = accepted;
  record.phases = {{"search/compile", 0.5}, {"search/proof/judge", 0.25}};
  auto read = result_from(to_json(record));
  REQUIRE(read);
  CHECK(to_json(*read) == to_json(record));
  CHECK(std::get<Accepted>(read->candidate.outcome).measurement.time_us == 1.0 / 3.0);
  CHECK(read->phases == record.phases);
  const Verdict& kept = std::get<Accepted>(read->candidate.outcome).verdict;
  REQUIRE(kept.stalls.size() == 2);
  CHECK(kept.stalls[1].stall == Stall::misc);
  CHECK(kept.stalls[1].share == 0.125);
  // Neither the clock nor its parts are part of what journals are compared by, and older journals
  // lack the parts.
  ResultRecord slower = record;
  slower.seconds = 9;
  slower.phases["search/compile"] = 8.5;
  CHECK(comparable_record(4, to_json(slower)) == comparable_record(4, to_json(record)));
  std::string older = to_json(record);
  const std::string parts = R"("phases":{"search/compile":0.5,"search/proof/judge":0.25},)";
  REQUIRE(older.find(parts) != std::string::npos);
  older.erase(older.find(parts), parts.size());
  read = result_from(older);
  REQUIRE(read);
  CHECK(read->phases.empty());
  record.candidate.outcome = Rejected{Stage::verify, "verify.bound", "wrong", "D[3]"};
  read = result_from(to_json(record));
  REQUIRE(read);
  CHECK(std::get<Rejected>(read->candidate.outcome).where == "D[3]");
  CHECK_FALSE(result_from("{}"));
  CHECK_FALSE(result_from("not json"));
}
