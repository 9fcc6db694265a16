// The reader of sources before they are compiled: an include stays an include however it is
// dressed.
#include "backend/compile/source.hpp"

#include <array>
#include <span>

#include "catch.hpp"
#include "fuzz/dice.hpp"

namespace cupilot::fuzz {
namespace {

// The words of an include directive with things between and inside them that the preprocessor does
// not see.
std::string dressed_include(Dice& dice) {
  static const std::array<std::string, 8> blanks = {"",        " ",    "\t",     "/* */",
                                                    "/* # */", "\\\n", " \\\n ", "/*\n*/"};
  static const std::array<std::string, 5> splices = {"", "", "\\\n", "\\ \n", "\\\r\n"};
  static const std::array<std::string, 4> names = {"\"/etc/passwd\"", "<cub/cub.cuh>", "NAME",
                                                   "<mma.h"};
  std::string word;
  static const std::array<std::string, 4> directives = {"include", "include_next", "import",
                                                        "embed"};
  for (const char c : dice.pick<std::string>(directives))
    word += c + dice.pick<std::string>(splices);
  const std::string hash = dice.below(3) == 0 ? "%" + dice.pick<std::string>(splices) + ":" : "#";
  return dice.pick<std::string>(blanks) + hash + dice.pick<std::string>(blanks) + word +
         dice.pick<std::string>(blanks) + " " + dice.pick<std::string>(names) + "\n";
}

// Text that is complete in itself: nothing in it may swallow the line that follows.
std::string innocent(Dice& dice) {
  static const std::array<std::string, 14> pieces = {
      "int a;\n",
      "// it's a \"quote\n",
      "/* \" ' R\"( */\n",
      "const char* s = \"/* // \\\" \";\n",
      "char c = '\"', d = '\\'', e = '\\\\';\n",
      "auto r = R\"(\" // /* )\";\n",
      "auto r = u8R\"xy()\" )x\" )xy\";\n",
      "int n = 1'000'000, m = 0x1'F;\n",
      "#if 0\n don't \"\n#endif\n",
      "#define Q(x) #x\n",
      "int \xc3\xa9R = 3; auto z = \xc3\xa9R\"(\";\n",
      "/* two\nlines */ int b;\n",
      "int l = 3; // splice \\\n still a comment '\n",
      "#error it's\n",
  };
  std::string text;
  for (std::size_t i = dice.below(5); i > 0; --i) text += dice.pick<std::string>(pieces);
  return text;
}

}  // namespace

TEST_CASE("An include is found behind any text and in any dress") {
  const std::vector<std::string> allowed = {"mma.h", "cuda_fp16.h"};
  std::size_t missed = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    Dice dice(i);
    const std::string before = innocent(dice), include = dressed_include(dice),
                      after = innocent(dice);
    const auto without = check_source(before + after, allowed);
    const auto with = check_source(before + include + after, allowed);
    const bool right = !without && with && with->code == "gate.include";
    if (right || ++missed > 5) continue;
    FAIL_CHECK(
        "text " << i
                << (without ? " is refused without its include: " + without->message : " passes")
                << "\n"
                << before << include);
  }
  CHECK(missed == 0);
}

TEST_CASE("No bytes crash the reader of sources") {
  for (std::size_t i = 0; i < 2000; ++i) {
    Dice dice(i);
    std::string text = innocent(dice) + dressed_include(dice);
    for (std::size_t j = dice.below(6); j > 0; --j)
      text.insert(dice.below(text.size()), dice.noise(dice.below(4)));
    text.resize(dice.below(text.size() + 1));
    const auto refused = check_source(text);
    if (refused) CHECK((refused->code == "gate.include" || refused->code == "gate.source_size"));
  }
}

}  // namespace cupilot::fuzz
