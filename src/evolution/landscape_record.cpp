// Recording: drawn strategies, each through the whole pipe, in a journal that recorded:DIR answers from.
#include <cupilot/version.hpp>

#include "evolution/driver.hpp"
#include "evolution/run_files.hpp"

namespace cupilot {

// A search without selection or surrogate that keeps everything: random proposals, no finals.
Result<std::int64_t> record_landscape(const Task& task, Backend& backend, const std::string& dir, std::int64_t count,
                                      std::uint64_t seed, SearchObserver* observer) {
  EvolveOptions options;
  options.search.seed = seed;
  options.search.max_evaluations = count;
  options.search.brood = 1;
  options.search.tune_share = 0;
  options.run_dir = dir;
  options.random_search = true;
  options.observer = observer;
  const Task searched = backend.techniques().empty() ? task : landscape_task();
  auto circle = open_circle(searched, backend, options);
  if (!circle) return circle.error();
  auto journal = Journal::create(real_host(), dir);
  if (!journal) return journal.error();
  Driver driver(searched, std::move(*circle), options, std::move(*journal));
  if (auto begun = driver.begin(); !begun) return begun.error();
  if (auto searching = driver.run_search(); !searching) return searching.error();
  return driver.evaluations();
}

}  // namespace cupilot
