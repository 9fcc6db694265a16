#include "base/digest_table.hpp"

#include <string>

#include "base/hash.hpp"
#include "catch.hpp"

using namespace cupilot;

TEST_CASE("a table of digests keeps the first number of each id, however many there are",
          "[digest]") {
  DigestTable table(10);
  for (int i = 0; i < 1000; ++i) CHECK(table.insert(sha256_hex(std::to_string(i)), i));
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(table.insert(sha256_hex(std::to_string(i)), 5000));
  CHECK(table.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(table.find(sha256_hex(std::to_string(i))) == i);
  CHECK(table.find(sha256_hex("1000")) == -1);
}

TEST_CASE("ids that are no digests are told apart too", "[digest]") {
  DigestTable table;
  for (const char* id : {"", "a", "b", "0123456789abcdef", "0123456789abcdef0123456789abcdeX"})
    CHECK(table.insert(id, 1));
  CHECK(table.contains("b"));
  CHECK_FALSE(table.contains("c"));
}

TEST_CASE("a table survives its bytes, and other bytes are no table", "[digest]") {
  DigestTable table;
  for (int i = 0; i < 100; ++i) table.insert(std::to_string(i), 7 * i);
  const std::string bytes(table.bytes());
  const auto back = DigestTable::from_bytes(bytes);
  REQUIRE(back);
  CHECK(back->size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(back->find(std::to_string(i)) == 7 * i);
  CHECK_FALSE(DigestTable::from_bytes(bytes.substr(1)));
  CHECK_FALSE(DigestTable::from_bytes(bytes + bytes));
  CHECK_FALSE(DigestTable::from_bytes(std::string(bytes.size(), '\0')));
  CHECK_FALSE(DigestTable::from_bytes(std::string(bytes.size(), '\xff')));
  CHECK(DigestTable::from_bytes("")->size() == 0);
}

TEST_CASE("a table's bytes are of what it holds, and its room is of what was expected",
          "[digest]") {
  for (const std::int64_t expected : {0, 1000, 1'000'000}) {
    DigestTable table(expected);
    for (int i = 0; i < 100; ++i) table.insert(std::to_string(i), i);
    CHECK(table.bytes().size() == 2400);
    const auto back = DigestTable::from_bytes(table.bytes(), table.room());
    REQUIRE(back);
    CHECK(back->room() == table.room());
    CHECK(back->find("99") == 99);
  }
}
