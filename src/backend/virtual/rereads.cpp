#include "backend/virtual/rereads.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace cupilot {
namespace {

// Counts marks of places before another (a Fenwick tree).
class Marks {
 public:
  explicit Marks(std::size_t places) : sums_(places + 1) {}
  void add(std::size_t place, std::int32_t what) {
    for (std::size_t i = place + 1; i < sums_.size(); i += i & -i) sums_[i] += what;
  }
  std::int64_t before(std::size_t place) const {
    std::int64_t sum = 0;
    for (std::size_t i = place; i > 0; i -= i & -i) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<std::int32_t> sums_;
};

}  // namespace

void add_rereads(std::span<const std::uint64_t> lines, std::span<const std::uint64_t> others,
                 RereadSums& sums) {
  Marks last(lines.size());  // the newest load of each line
  std::unordered_map<std::uint64_t, std::size_t> newest;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::binary_search(others.begin(), others.end(), lines[i])) continue;
    const auto [at, first] = newest.emplace(lines[i], i);
    if (!first) {
      const auto between = static_cast<double>(last.before(i) - last.before(at->second + 1));
      sums.spans += between;
      sums.squares += between * between;
      last.add(at->second, -1);
      at->second = i;
    }
    last.add(i, 1);
  }
}

}  // namespace cupilot
