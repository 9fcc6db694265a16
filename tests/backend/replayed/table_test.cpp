#include "backend/replayed/recording.hpp"

#include <cupilot/parts/device.hpp>

#include "base/measurement_json.hpp"
#include "catch.hpp"

using namespace cupilot;

namespace {

std::string header() {
  const parts::Json json = {{"cupilot_landscape_table", 1},
                            {"identity", "a card"},
                            {"provenance", "measured"},
                            {"device", parts::put(*chip("h200"))},
                            {"baselines", {{"plain", 70.5}}}};
  return json.dump() + "\n";
}

const std::string timed = R"({"id":"0123456789abcdef","kernel":"k1","us":[9,7,8]})";
const std::string refused =
    R"({"id":"fedcba9876543210","rejected":"measure.failed","why":"two clocks"})";

}  // namespace

TEST_CASE("a landscape's lines answer by the beginning of a strategy's id") {
  const auto recording = recording_of_table(header() + timed + "\n" + refused + "\n", "file");
  REQUIRE(recording);
  CHECK(recording->identity == "a card");
  CHECK(recording->provenance == Provenance::measured);
  CHECK(recording->baselines.at("plain") == 70.5);
  const Answer* answer = find_answer(*recording, "0123456789abcdef0000");
  REQUIRE(answer != nullptr);
  CHECK(answer->accepted);
  CHECK(answer->measurement.time_us == 8);
  CHECK(answer->measurement.interval_low_us == 7);
  CHECK(answer->measurement.interval_high_us == 9);
  CHECK(answer->kernel_hash == "k1");
  const Answer* other = find_answer(*recording, "fedcba98765432100000");
  REQUIRE(other != nullptr);
  CHECK_FALSE(other->accepted);
  CHECK(other->rejected.stage == Stage::measure);
  CHECK(find_answer(*recording, "00000000000000000000") == nullptr);
}

TEST_CASE("a line cut off while it was written is left out, and said to be") {
  const auto recording =
      recording_of_table(header() + timed + "\n" + refused.substr(0, 20), "the/file");
  REQUIRE(recording);
  CHECK(recording->answers.size() == 1);
  CHECK(recording->notice ==
        "the/file ended in a torn line of 20 bytes, as a crash leaves it; the lines before it "
        "answer");
  const auto whole = recording_of_table(header() + timed + "\n", "the/file");
  REQUIRE(whole);
  CHECK(whole->notice.empty());
}

TEST_CASE("a landscape of another format is refused with both numbers") {
  const auto recording = recording_of_table("{\"cupilot_landscape_table\":2}\n", "the/file");
  REQUIRE_FALSE(recording);
  CHECK(recording.error().message ==
        "the/file cannot be read: its format is 2; this program reads 1");
}

TEST_CASE("what is no landscape is refused with its name") {
  const std::string bad[] = {"text\n",
                             "",
                             header().substr(0, header().size() - 1),
                             "{\"cupilot_landscape_table\":2}\n",
                             header() + "{\"id\":\"1\"}\n",
                             header() + "{\"id\":\"1\",\"rejected\":\"no.such_code\"}\n",
                             header() + "{\"id\":\"1\",\"us\":[]}\n"};
  for (const std::string& text : bad) {
    CAPTURE(text);
    const auto recording = recording_of_table(text, "the/file");
    REQUIRE_FALSE(recording);
    CHECK(recording.error().message.find("the/file") != std::string::npos);
  }
}
