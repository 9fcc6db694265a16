// recorded:DIR on journals that a crash, a disk or a stranger damaged.
#include "backend/replayed/recording.hpp"

#include <algorithm>

#include <cupilot/parts/device.hpp>

#include "base/measurement_json.hpp"
#include "base/record_file.hpp"
#include "base/record_type.hpp"
#include "catch.hpp"

using namespace cupilot;

namespace {

constexpr int slots = 4;

std::string result_of(int slot) {
  const parts::Json rejected =
      parts::put(Rejected{Stage::measure, "measure.failed", "two clocks", {}});
  const parts::Json json = {{"slot", slot},
                            {"kernel_hash", "k"},
                            {"candidate",
                             {{"strategy_id", "s" + std::to_string(slot)},
                              {"outcome", {{"kind", "rejected"}, {"rejected", rejected}}}}}};
  return json.dump();
}

// Records as a run writes them, and where each begins.
struct Recorded {
  std::string bytes;
  std::vector<std::size_t> begins;

  Recorded() {
    const parts::Json header = {{"cupilot_journal", 1},
                                {"identity", "a card"},
                                {"provenance", "measured"},
                                {"device", parts::put(*chip("h200"))},
                                {"techniques", parts::Json::array()}};
    add(RecordType::header, header.dump());
    add(RecordType::baselines, R"({"baselines":[{"name":"plain","time_us":70.5}]})");
    for (int slot = 0; slot < slots; ++slot)
      add(RecordType::proposal, R"({"slot":)" + std::to_string(slot) + "}");
    for (int slot = 0; slot < slots; ++slot) add(RecordType::result, result_of(slot));
  }

  void add(RecordType type, const std::string& payload) {
    add_frame(bytes, static_cast<std::uint32_t>(type), begins.size(), payload);
    begins.push_back(bytes.size() - payload.size() - frame_overhead);
  }

  std::string flipped(std::size_t record) const {
    std::string damaged = bytes;
    damaged[begins[record] + 18] = static_cast<char>(damaged[begins[record] + 18] ^ 4);
    return damaged;
  }
};

constexpr std::size_t first_proposal = 2, first_result = first_proposal + slots;

}  // namespace

TEST_CASE("a recording that was cut anywhere answers what lies before the cut, and says so") {
  const Recorded whole;
  for (std::size_t size = whole.begins[1]; size <= whole.bytes.size(); ++size) {
    INFO("cut at byte " << size);
    const auto recording = recording_of_journal(whole.bytes.substr(0, size), "the/journal");
    REQUIRE(recording);
    const auto before =
        std::upper_bound(whole.begins.begin(), whole.begins.end(), size) - whole.begins.begin();
    const bool at_a_record =
        size == whole.bytes.size() || size == whole.begins[static_cast<std::size_t>(before - 1)];
    const std::size_t records =
        static_cast<std::size_t>(before) - (size == whole.bytes.size() ? 0 : 1);
    CHECK(recording->notice.empty() == at_a_record);
    CHECK(recording->answers.size() == (records > first_result ? records - first_result : 0));
    if (at_a_record) continue;
    const std::string place =
        "the/journal ended in a torn record at byte " + std::to_string(whole.begins[records]);
    CHECK(recording->notice.find(place) == 0);
  }
}

TEST_CASE("of a damaged recording what a crash may leave is told, and anything else refused") {
  const Recorded whole;
  for (std::size_t record = 0; record < whole.begins.size(); ++record) {
    INFO("record " << record);
    const std::size_t behind = whole.begins.size() - record - 1;
    const auto recording = recording_of_journal(whole.flipped(record), "the/journal");
    const std::string place = "at byte " + std::to_string(whole.begins[record]);
    // Results of one batch are on the disk in any order.
    REQUIRE(static_cast<bool>(recording) == (record >= first_result));
    const std::string said = recording ? recording->notice : recording.error().message;
    CHECK(said.find("the/journal") == 0);
    CHECK(said.find(place) != std::string::npos);
    if (behind > 0)
      CHECK(said.find(std::to_string(behind) + " whole records") != std::string::npos);
    if (recording) CHECK(recording->answers.size() == record - first_result);
    if (recording) continue;
    CHECK(recording.error().code == ErrorCode::usage);
    const std::string cut = record == 0 ? "put back a copy of it"
                                        : "truncate -s " + std::to_string(whole.begins[record]);
    CHECK(recording.error().hint.find(cut) != std::string::npos);
  }
}

TEST_CASE("what is no journal records nothing") {
  for (const std::string& bytes :
       {std::string(), std::string("a text that somebody wrote down here"), frame(4, 0, "{}")}) {
    const auto recording = recording_of_journal(bytes, "the/journal");
    REQUIRE_FALSE(recording);
    CHECK(recording.error().code == ErrorCode::usage);
    CHECK(recording.error().message.find("the/journal is no journal of cupilot") == 0);
  }
}
