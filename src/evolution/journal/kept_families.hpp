// families.json of a run directory: the user's own families as the run began with them, so that
// neither an edit nor another working directory changes it (docs/formats/run-directory.md).
#pragma once

#include <string>

#include <cupilot/family.hpp>
#include <cupilot/parts/host.hpp>

namespace cupilot {

// Writes nothing where all are built in.
Result<void> keep_families(Host& host, const std::string& run_dir, const Families& families);
// The built-in families and those that were kept; `given` where there are some.
Result<Families> kept_families(Host& host, const std::string& run_dir, const Families& given = {});

}  // namespace cupilot
