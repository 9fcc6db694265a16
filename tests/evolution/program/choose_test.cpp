// Checks which part is searched next, and what program.json keeps.
#include "evolution/program/choose.hpp"
#include "catch.hpp"

namespace cupilot {
namespace {

// Three parts: a and b make one partition, ab the other.
ProgramRecord record_of(std::vector<ProgramSlotRecord> slots, double floor_ab = 15) {
  ProgramRecord record;
  record.max_evaluations = 100;
  record.slot_evaluations = 10;
  record.parts = {{{"a"}, "ida", 4}, {{"b"}, "idb", 6}, {{"a", "b"}, "idab", floor_ab}};
  record.partitions = {{2}, {0, 1}};
  record.slots = std::move(slots);
  return record;
}

ProgramSlotRecord found(std::size_t part, std::int64_t evaluations, double us) {
  return {.part = part, .evaluations = evaluations, .time_us = us, .strategy = {}, .refused = {}};
}
ProgramSlotRecord beside(ProgramSlotRecord slot, double library_us) {
  slot.library_us = library_us;
  return slot;
}
ProgramSlotRecord by_library(ProgramSlotRecord slot, double step_us) {
  slot.step_us = step_us;
  return slot;
}
ProgramSlotRecord nothing(std::size_t part, std::int64_t evaluations) {
  return {
      .part = part, .evaluations = evaluations, .time_us = 0, .strategy = {}, .refused = "no luck"};
}

TEST_CASE("the next part follows from completed slots alone") {
  struct Row {
    const char* name;
    ProgramRecord record;
    std::optional<std::size_t> next;
  };
  const Row rows[] = {
      {"the larger floor of the partition with the least sum", record_of({}), 1},
      {"one kernel of a low floor, where it is lower", record_of({}, 9), 2},
      {"the other part of the partition", record_of({found(1, 10, 8)}), 0},
      {"which is completed however slow its first part is", record_of({found(1, 10, 100)}), 0},
      {"another partition once this one is slower than its floor",
       record_of({found(1, 10, 12), found(0, 10, 5)}), 2},
      {"the part with the larger share", record_of({found(1, 10, 9), found(0, 10, 4.5)}, 20), 1},
      {"the smaller one when the larger stopped gaining",
       record_of({found(1, 10, 9), found(0, 10, 4.5), found(1, 20, 9), found(1, 30, 9)}, 20), 0},
      {"one that gained much goes on",
       record_of({found(1, 10, 9), found(0, 10, 4.5), found(0, 20, 4.5), found(1, 20, 6.1)}, 20),
       1},
      {"one that the library computes in half the time goes on",
       record_of({found(1, 10, 9), beside(found(0, 10, 4.5), 2.25)}, 20), 0},
      {"one that the library computes slower does not",
       record_of({found(1, 10, 9), beside(found(0, 10, 4.5), 9)}, 20), 1},
      {"nor one that several slots did not make faster",
       record_of({found(1, 10, 9), beside(found(0, 10, 4.5), 2.25), beside(found(0, 20, 4.5), 2.25),
                  beside(found(0, 30, 4.5), 2.25)},
                 20),
       1},
      {"one that is faster as the library's step goes on while a kernel may be faster",
       record_of({found(1, 10, 9), by_library(found(0, 10, 4.5), 0.5)}, 20), 0},
      {"and makes its partition the fastest", record_of({by_library(found(2, 10, 20), 5)}, 9), 2},
      {"a part that is a step alone needs no kernel",
       record_of({by_library(nothing(1, 10), 6), by_library(nothing(1, 20), 0)}, 60), 0},
      {"a part without a kernel is tried again", record_of({nothing(1, 10)}), 1},
      {"and then its partition is left", record_of({nothing(1, 10), nothing(1, 20)}), 2},
      {"nothing is left",
       record_of({nothing(1, 10), nothing(1, 20), nothing(2, 10), nothing(2, 20)}), std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(next_part(row.record) == row.next);
  }
}

TEST_CASE("forecasts choose the partition of the first program and none after it") {
  const auto forecast = [](std::vector<ProgramSlotRecord> slots, double a, double b, double ab) {
    ProgramRecord record = record_of(std::move(slots));
    record.parts[0].forecast_us = a;
    record.parts[1].forecast_us = b;
    record.parts[2].forecast_us = ab;
    return record;
  };
  // Floors alone choose a and b: 4 + 6 against 15.
  CHECK(next_part(forecast({}, 8, 9, 16)) == std::optional<std::size_t>(2));
  CHECK(next_part(forecast({}, 8, 9, 18)) == std::optional<std::size_t>(1));
  CHECK(next_part(forecast({}, 0, 0, 16)) == std::optional<std::size_t>(1));
  CHECK(next_part(forecast({}, 1, 1, 1)) == std::optional<std::size_t>(1));  // below the floors
  CHECK(next_part(forecast({found(2, 10, 16)}, 8, 9, 16)) == std::optional<std::size_t>(1));
  ProgramRecord prepared = forecast({}, 80, 9, 16);
  prepared.parts[0].prepared = true;
  CHECK(next_part(prepared) == std::optional<std::size_t>(1));
  const auto back = program_record_from(to_json(prepared), "program.json");
  if (!back) FAIL(back.error().message);
  CHECK(to_json(*back) == to_json(prepared));
}

TEST_CASE("the time that is left is cut into shares of the parts that a program needs") {
  struct Row {
    const char* name;
    ProgramRecord record;
    std::size_t part;
    bool has_body;
    std::int64_t shares;
  };
  const Row rows[] = {
      {"two parts and the proof", record_of({}), 1, false, 4},
      {"one part and the proof", record_of({}), 2, false, 3},
      {"a composite, the proof and the two parts of its body", record_of({}), 2, true, 5},
      {"the last part and the proof", record_of({found(1, 10, 8)}), 0, false, 3},
      {"parts of the body once the composite has a kernel", record_of({found(2, 10, 40)}), 1, true,
       2},
      {"the last of them", record_of({found(2, 10, 40), found(1, 10, 8)}), 0, true, 1},
      {"a part that has a kernel", record_of({found(2, 10, 40)}), 2, true, 1},
      {"what is given up needs no time", record_of({nothing(1, 10), nothing(1, 20)}), 2, true, 3},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(time_shares(row.record, row.part, row.has_body) == row.shares);
  }
}

TEST_CASE("a part as the library's step counts with the faster time") {
  const ProgramRecord record = record_of(
      {by_library(nothing(1, 10), 6), by_library(found(0, 10, 4.5), 2.5), found(2, 10, 9)});
  const auto parts = standings(record);
  CHECK(parts[0].by_library());
  CHECK(parts[1].by_library());
  CHECK_FALSE(parts[2].by_library());
  CHECK(expected_us({0, 1}, parts) == 8.5);
  CHECK(ready_partitions(record).front() == std::vector<std::size_t>{0, 1});
  const auto back = program_record_from(to_json(record), "program.json");
  if (!back) FAIL(back.error().message);
  CHECK(to_json(*back) == to_json(record));
  const auto lines = program_lines(*back);
  CHECK_THAT(lines[1], Catch::Contains("4.5 us after 10 evaluations") &&
                           Catch::EndsWith("; as a step of cublaslt 2.5 us"));
  CHECK_THAT(lines[2], Catch::Contains("no kernel after 10 evaluations: no luck") &&
                           Catch::EndsWith("; as a step of cublaslt 6 us"));
}

TEST_CASE("a step that was not accepted keeps the reason") {
  ProgramSlotRecord slot = found(0, 10, 4.5);
  slot.step_refused = "verify.wrong: y differs";
  const ProgramRecord record = record_of({slot, found(0, 20, 4)});
  CHECK_FALSE(standings(record)[0].by_library());
  const auto back = program_record_from(to_json(record), "program.json");
  if (!back) FAIL(back.error().message);
  CHECK(to_json(*back) == to_json(record));
  CHECK_THAT(program_lines(*back)[1],
             Catch::EndsWith("; as a step of cublaslt refused: verify.wrong: y differs"));
}

TEST_CASE("a part that is prepared costs its partition nothing and is searched once") {
  ProgramRecord record = record_of({found(1, 10, 9), found(2, 10, 10), found(0, 10, 40)});
  CHECK(ready_partitions(record).front() == std::vector<std::size_t>{2});
  record.parts[0].prepared = true;
  CHECK(ready_partitions(record).front() == std::vector<std::size_t>{0, 1});
  CHECK(next_part(record) == std::optional<std::size_t>(1));
  const auto back = program_record_from(to_json(record), "program.json");
  if (!back) FAIL(back.error().message);
  CHECK(back->parts[0].prepared);
  CHECK_FALSE(back->parts[1].prepared);
  CHECK(program_lines(*back)[1] ==
        "part a: 40 us after 10 evaluations, floor 4 us; of constants alone: run once before and "
        "not timed");
  // Without a kernel it refuses its partition all the same.
  record.slots = {nothing(0, 10), nothing(0, 20), found(2, 10, 10), found(1, 10, 9)};
  CHECK(ready_partitions(record) == std::vector<std::vector<std::size_t>>{{2}});
}

TEST_CASE("a cat of views is ready without a kernel, costs nothing and is searched never") {
  ProgramRecord record = record_of({found(1, 10, 9), found(2, 10, 10)});
  CHECK(ready_partitions(record) == std::vector<std::vector<std::size_t>>{{2}});
  record.parts[0].views = true;
  record.parts[0].floor_us = 0;
  record.views = {{"a", "y", "k"}};
  CHECK(ready_partitions(record) == std::vector<std::vector<std::size_t>>{{0, 1}, {2}});
  CHECK(next_part(record) == std::optional<std::size_t>(1));
  const auto back = program_record_from(to_json(record), "program.json");
  if (!back) FAIL(back.error().message);
  CHECK(to_json(*back) == to_json(record));
  const auto lines = program_lines(*back);
  CHECK(lines[1] == "part a: no kernel, other parts write its inputs where its result has them");
  CHECK(lines[4] == "view a: lies in y, from element k on");
  CHECK(lines[5] == "partition a | b: its parts take 9 us, each launched alone");
}

TEST_CASE("parts that compute the same share one search") {
  ProgramRecord record = record_of({});
  record.parts = {{{"a"}, "ida", 4}, {{"b"}, "idb", 6}, {{"c"}, "idc", 6}, {{"d"}, "idd", 20}};
  record.parts[2].like = 1;
  record.partitions = {{0, 1, 2}, {3, 1, 2}};
  CHECK(next_part(record) == std::optional<std::size_t>(1));
  CHECK(time_shares(record, 1, false) == 4);  // b and c, a, and the program's own two
  record.slots = {found(1, 10, 9)};
  const auto parts = standings(record);
  CHECK(parts[2].time_us == 9);
  CHECK(parts[2].evaluations == 10);
  CHECK(parts[2].best_slot == 0);
  CHECK(next_part(record) == std::optional<std::size_t>(0));
  record.slots.push_back(found(0, 10, 10));
  // b alone takes less than a, b and c take more.
  CHECK(next_part(record) == std::optional<std::size_t>(1));
  const auto read = program_record_from(to_json(record), "program.json");
  REQUIRE(read);
  CHECK(read->parts[2].like == record.parts[2].like);
  CHECK_FALSE(read->parts[1].like);
  CHECK(program_lines(record)[3] == "part c: computes what part b does, whose search serves both");
  record.parts[1].like = 0;
  CHECK_FALSE(program_record_from(to_json(record), "program.json"));
}

TEST_CASE("partitions are ready when all parts have kernels, the fastest first") {
  const auto record = record_of({found(1, 10, 9), found(2, 10, 16), found(0, 10, 4)});
  const auto ready = ready_partitions(record);
  REQUIRE(ready.size() == 2);
  CHECK(ready[0] == std::vector<std::size_t>{0, 1});
  CHECK(ready_partitions(record_of({found(1, 10, 9)})).empty());
}

TEST_CASE("program.json is read as it was written") {
  ProgramRecord record = record_of({found(1, 10, 9), nothing(2, 10)});
  record.slots[0].strategy.uses = {{"simt_core", {}, "", {}}};
  record.slots[0].library_us = 8.5;
  record.lookahead = 12;
  record.pool = "pool.sqlite";
  const auto back = program_record_from(to_json(record), "program.json");
  if (!back) FAIL(back.error().message);
  CHECK(back->lookahead == 12);
  CHECK(back->pool == "pool.sqlite");
  CHECK(to_json(*back) == to_json(record));
  CHECK(back->slots[0].strategy.uses == record.slots[0].strategy.uses);
  CHECK(back->slots[1].refused == "no luck");
  const auto lines = program_lines(*back);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "program: 2 partitions are legal, 3 parts, 2 slots of 10 evaluations");
  CHECK(lines[1] == "part a: not searched, at least 4 us");
  CHECK(lines[2] == "part b: 9 us after 10 evaluations, floor 6 us, cublaslt 8.5 us");
  CHECK(lines[3] == "part a+b: no kernel after 10 evaluations: no luck");
  CHECK(lines[4] == "partition a | b: at least 13 us, not all parts were searched");
}

TEST_CASE("a damaged program.json is an error that names it") {
  const std::string good = to_json(record_of({found(1, 10, 9)}));
  const auto replaced = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), good.substr(0, good.size() / 2),
        replaced("\"cupilot_program\": 2", "\"cupilot_program\": 7"),
        replaced("\"part\": 1", "\"part\": 3"), replaced("\"listed\"", "\"lisped\"")}) {
    const auto read = program_record_from(bad, "here/program.json");
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error().message, Catch::Contains("here/program.json"));
  }
}

}  // namespace
}  // namespace cupilot
