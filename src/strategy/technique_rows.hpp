// Rows of techniques as JSON: kernels/techniques.json, a family's techniques.json
// (docs/formats/family.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/technique.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

struct TechniqueRow {
  Technique technique{};
  std::string before{};  // the row that it is listed before; "": at the end
};

// Error usage names the origin, the row and the field.
Result<std::vector<TechniqueRow>> technique_rows(std::string_view json, const std::string& origin);

// Puts each row at its place. Error usage: a name that `all` holds already.
Result<void> add_rows(std::vector<TechniqueRow> rows, const std::string& origin,
                      std::vector<Technique>& all);

}  // namespace cupilot
