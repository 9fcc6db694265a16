// A candidate of a real device is proved on a virtual device of its chip first.
#include <algorithm>

#include <cupilot/evolve.hpp>

namespace cupilot {

Result<std::unique_ptr<Backend>> open_screen(const Backend& backend, const BackendOptions& options) {
  const std::vector<std::string> known = known_chips();
  const std::string& name = backend.device().name;
  const bool fits = backend.provenance() == Provenance::measured && std::find(known.begin(), known.end(), name) != known.end();
  if (!fits) return std::unique_ptr<Backend>();
  return open_backend("virtual:" + name, options);
}

}  // namespace cupilot
