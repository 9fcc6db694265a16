// Lists of shapes as text.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include <cupilot/wisdom.hpp>

namespace cupilot {
namespace {

struct Reader {
  const std::string& origin;
  const std::vector<std::string>& axes;

  Error wrong(int line, const std::string& reason) const {
    return {ErrorCode::usage, fmt::format("{}:{}: {}", origin, line, reason),
            fmt::format("a line is {}=SIZE … [weight=NUMBER]", fmt::join(axes, "=SIZE "))};
  }

  Result<void> take(const std::string& word, int line, Workload& shape) const {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      return wrong(line, fmt::format("'{}' is not of the form name=number", word));
    const std::string name = word.substr(0, equals), number = word.substr(equals + 1);
    const char* end = number.data() + number.size();
    if (name == "weight") {
      const auto read = std::from_chars(number.data(), end, shape.weight);
      if (read.ec != std::errc() || read.ptr != end || !(shape.weight > 0 && shape.weight < 1e9)) {
        return wrong(line, fmt::format("weight '{}' is no positive number", number));
      }
      return {};
    }
    if (std::find(axes.begin(), axes.end(), name) == axes.end())
      return wrong(line, fmt::format("'{}' is no size of the task", name));
    std::int64_t size = 0;
    const auto read = std::from_chars(number.data(), end, size);
    if (read.ec != std::errc() || read.ptr != end || size < 1) {
      return wrong(line, fmt::format("{}={} is no whole number from 1", name, number));
    }
    if (!shape.sizes.emplace(name, size).second)
      return wrong(line, fmt::format("{} stands twice", name));
    return {};
  }
};

}  // namespace

Result<std::vector<Workload>> shapes_from_text(std::string_view text, const std::string& origin,
                                               const std::vector<std::string>& axes) {
  const Reader reader{origin, axes};
  std::vector<Workload> shapes;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    Workload shape;
    std::string word;
    bool any = false;
    while (words >> word) {
      any = true;
      if (auto taken = reader.take(word, number, shape); !taken) return taken.error();
    }
    if (!any) continue;
    for (const std::string& axis : axes) {
      if (axis == "batch") shape.sizes.emplace(axis, 1);
      if (!shape.sizes.contains(axis))
        return reader.wrong(number, fmt::format("{} is missing", axis));
    }
    const bool twice = std::any_of(shapes.begin(), shapes.end(), [&](const Workload& other) {
      return other.sizes == shape.sizes;
    });
    if (twice) return reader.wrong(number, "this shape stood before");
    shapes.push_back(std::move(shape));
  }
  if (shapes.empty())
    return Error{ErrorCode::usage, origin + " holds no shape", "write one shape a line"};
  return shapes;
}

}  // namespace cupilot
