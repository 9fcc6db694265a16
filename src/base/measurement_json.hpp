// JSON of what journals and recorded landscapes share. Reading throws nlohmann's exceptions: catch
// them in the .cpp.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/measurement.hpp>
#include <cupilot/result.hpp>

#include "base/json.hpp"

namespace cupilot::parts {

using Json = SortedJson;

Json put(const Counts& counts);
Json put(const Measurement& measurement);
Json put(const Rejected& rejected);
Json put(const DeviceSpec& device);
Measurement measurement_of(const Json& json);
Rejected rejected_of(const Json& json);
DeviceSpec device_of(const Json& json);

// JSON has no infinities: they are kept as the largest double, NaN as 0.
double finite(double value);
Json finite_all(const std::vector<double>& values);

// The enumerator whose name_of() is `name`; throws when there is none.
template <class Enum>
Enum enum_of(const std::string& name, int count) {
  for (int i = 0; i < count; ++i) {
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  throw Json::other_error::create(501, "unknown word " + name, nullptr);
}

}  // namespace cupilot::parts
