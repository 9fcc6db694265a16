#include "evolution/journal.hpp"

#include "catch.hpp"
#include "support.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

std::string three_frames() { return frame(1, 0, "first") + frame(2, 1, "") + frame(3, 2, std::string(300, 'x')); }

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
    for (std::size_t i = 0; i < read.records.size(); ++i) CHECK(read.records[i].payload == whole.records[i].payload);
  }
}

TEST_CASE("records out of sequence end the reading") {
  const ReadRecords read = read_records(frame(1, 0, "a") + frame(1, 2, "c"));
  CHECK(read.records.size() == 1);
  CHECK(read.damage.find("sequence") != std::string::npos);
}

TEST_CASE("what is no journal of ours is refused with its reason") {
  const TempDir dir;
  REQUIRE(real_host().make_directories(dir / "run"));
  const auto put = [&](const std::string& bytes) { std::ofstream(dir / "run/journal", std::ios::binary) << bytes; };
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
  accepted.measurement.counts.rung = "virtual";
  accepted.verdict.pressures = {{Resource::tensor_pipe, 0.75}};
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
  // Neither the clock nor its parts are part of what journals are compared by, and older journals lack the parts.
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
