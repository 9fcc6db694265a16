#include <cupilot/wisdom.hpp>

#include "catch.hpp"

using namespace cupilot;

TEST_CASE("lists of shapes", "[wisdom]") {
  const auto shapes =
      shapes_from_text("# all\nm=4096 n=4096  k=64\n\nk=7 n=3 m=1 batch=5 weight=2.5  # skinny\n",
                       "shapes.txt", {"batch", "m", "n", "k"});
  REQUIRE(shapes);
  REQUIRE(shapes->size() == 2);
  CHECK((*shapes)[0].sizes == Sizes{{"batch", 1}, {"m", 4096}, {"n", 4096}, {"k", 64}});
  CHECK((*shapes)[0].weight == 1);
  CHECK((*shapes)[1].sizes == Sizes{{"batch", 5}, {"m", 1}, {"n", 3}, {"k", 7}});
  CHECK((*shapes)[1].weight == 2.5);
}

TEST_CASE("what is wrong with a list of shapes is named with its line", "[wisdom]") {
  const std::pair<const char*, const char*> rows[] = {
      {"", "s.txt holds no shape"},
      {"m=1 n=1\n", "s.txt:1: k is missing"},
      {"m=1 n=1 k=1\nm=1 n=2 k=x\n", "s.txt:2: k=x is no whole number from 1"},
      {"m=0 n=1 k=1\n", "s.txt:1: m=0 is no whole number from 1"},
      {"m=1 n=1 k=1 l=2\n", "s.txt:1: 'l' is no size of the task"},
      {"m=1 n=1 k=1 m=2\n", "s.txt:1: m stands twice"},
      {"m 1\n", "s.txt:1: 'm' is not of the form name=number"},
      {"m=1 n=1 k=1 weight=-1\n", "s.txt:1: weight '-1' is no positive number"},
      {"m=1 n=1 k=1\nk=1 m=1 n=1\n", "s.txt:2: this shape stood before"},
      {"m=99999999999999999999 n=1 k=1\n",
       "s.txt:1: m=99999999999999999999 is no whole number from 1"},
  };
  for (const auto& [text, message] : rows) {
    const auto shapes = shapes_from_text(text, "s.txt", {"m", "n", "k"});
    INFO(text);
    REQUIRE_FALSE(shapes);
    CHECK(shapes.error().message == message);
    CHECK(shapes.error().code == ErrorCode::usage);
  }
}
