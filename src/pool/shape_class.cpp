#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>

#include <cupilot/parts/pool.hpp>

namespace cupilot {
namespace {

struct Class {
  std::int64_t up_to;
  const char* name;
};
// Bounds where kernels change their kind: a row or two, less than a tile, less than the chip holds,
// a few waves, many.
constexpr std::array classes = {Class{4, "single"},    Class{64, "tiny"},
                                Class{512, "small"},   Class{2048, "medium"},
                                Class{16384, "large"}, Class{INT64_MAX, "huge"}};

int rank_of(const std::string& name) {
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&](const Class& one) { return name == one.name; });
  return static_cast<int>(found - classes.begin());
}

std::map<std::string, std::string> axes_of(const std::string& shape) {
  std::map<std::string, std::string> axes;
  std::istringstream words(shape);
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    if (sign != std::string::npos) axes[word.substr(0, sign)] = word.substr(sign + 1);
  }
  return axes;
}

}  // namespace

std::string shape_class(const Task& task) {
  std::string text;
  if (task.time_shapes.empty()) return text;
  const std::map<std::string, std::int64_t> sizes(task.time_shapes.front().sizes.begin(),
                                                  task.time_shapes.front().sizes.end());
  for (const auto& [axis, size] : sizes) {
    const auto found = std::find_if(classes.begin(), classes.end(),
                                    [&, n = size](const Class& one) { return n <= one.up_to; });
    text += (text.empty() ? "" : " ") + axis + "=" + found->name;
  }
  return text;
}

double shape_likeness(const std::string& a, const std::string& b) {
  const auto of_a = axes_of(a), of_b = axes_of(b);
  double alike = 0;
  for (const auto& [axis, name] : of_a) {
    const auto other = of_b.find(axis);
    if (other != of_b.end())
      alike += std::max(0.0, 1 - 0.5 * std::abs(rank_of(name) - rank_of(other->second)));
  }
  const std::size_t most = std::max(of_a.size(), of_b.size());
  return most == 0 ? 0 : alike / static_cast<double>(most);
}

}  // namespace cupilot
