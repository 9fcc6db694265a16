#include "base/json.hpp"

#include "catch.hpp"

namespace cupilot {
namespace {

template <class T>
bool reads(const char* text) {
  const SortedJson json = SortedJson::parse(text);
  try {
    return json.get<std::vector<T>>().size() == 1;
  } catch (const SortedJson::exception&) {
    return false;
  }
}

template <class Value>
void expect_whole_and_gone(const std::string& text) {
  const Value json = Value::parse(text);
  Value copy = json;
  CHECK(copy.dump() == text);
  copy = Value();
  CHECK(json.dump() == text);
}

}  // namespace

TEST_CASE("a number is read as an integer only if it is one of that type") {
  CHECK(reads<std::int64_t>("[-9223372036854775808]"));
  CHECK(reads<std::int64_t>("[1e18]"));
  CHECK_FALSE(reads<std::int64_t>("[1e20]"));
  CHECK_FALSE(reads<std::int64_t>("[9223372036854775808]"));
  CHECK_FALSE(reads<std::int64_t>("[9223372036854775808.0]"));
  CHECK_FALSE(reads<std::int64_t>("[1.5]"));
  CHECK_FALSE(reads<std::int64_t>("[-1e300]"));
  CHECK(reads<std::uint64_t>("[18446744073709551615]"));
  CHECK_FALSE(reads<std::uint64_t>("[-1]"));
  CHECK_FALSE(reads<int>("[2147483648]"));
  CHECK(reads<int>("[3.0]"));
  CHECK_FALSE(reads<int>("[\"3\"]"));
  CHECK(reads<double>("[1e20]"));
  CHECK(reads<bool>("[true]"));
}

TEST_CASE("values of any shape and depth are destroyed") {
  for (const char* text : {"[]", "{}", "[null]", "[[],[[]],[null,[1]]]",
                           R"({"a":{"b":[1,{"c":"text"}],"d":{}},"e":[[[]]]})"}) {
    expect_whole_and_gone<SortedJson>(text);
    expect_whole_and_gone<OrderedJson>(text);
  }
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  CHECK(SortedJson::parse(deep).size() == 1);
  CHECK(OrderedJson::parse(deep).size() == 1);
}

}  // namespace cupilot
