#include "cli/screens/rewritten.hpp"

#include "catch.hpp"

using namespace cupilot::cli;

namespace {

// What a terminal shows after `sent`: it knows newlines, the way up and erasing what follows.
std::vector<std::string> shown(const std::string& sent) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i] == '\n') {
      if (++at == lines.size()) lines.emplace_back();
    } else if (sent.compare(i, 2, "\x1b[") == 0) {
      std::size_t end = 0;
      const std::string rest = sent.substr(i + 2);
      const int count = rest[0] == 'J' ? 0 : std::stoi(rest, &end);
      if (rest[end] == 'A') at -= static_cast<std::size_t>(count);
      if (rest[end] == 'J') {
        lines.resize(at + 1);
        lines[at].clear();
      }
      i += 2 + end;
    } else if (sent[i] != '\r') {
      lines[at] += sent[i];
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("what is waited for takes the place of what was, and goes before the next line",
          "[cli]") {
  const std::vector<std::string> first = {"... 9 s: writing 3", "    translator: 3 questions"},
                                 second = {"... 18 s: proving 1"};
  std::string sent = "evolving\n" + rewritten(first, 0, 80);
  CHECK(shown(sent) == std::vector<std::string>{"evolving", first[0], first[1], ""});
  sent += rewritten(second, 2, 80);
  CHECK(shown(sent) == std::vector<std::string>{"evolving", second[0], ""});
  sent += rewritten({}, 1, 0) + "epoch 0\n";
  CHECK(shown(sent) == std::vector<std::string>{"evolving", "epoch 0", ""});
  // A line that the terminal would break counts as one.
  CHECK(shown(rewritten(first, 0, 5)) == std::vector<std::string>{"... 9", "    t", ""});
}
