// `struct Graph` of a sum of products whose factors are found by coordinates: a convolution as a
// product of matrices that nothing writes down.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/graph_text.hpp"
#include "program/stage_text.hpp"

namespace cupilot {

class ContractionText : public StageText {
 public:
  ContractionText(const Task& task, const GraphSite& site);

  std::optional<SiteContraction> contraction() const;
  std::string text() const;

 private:
  // Coordinates that a text depends on, through constants too.
  std::set<std::string> axes_of(const std::string& text) const;
  bool find_factors();
  // A struct of coordinates, and a function that makes one of a number.
  std::string coordinates_struct(const char* type, const char* function,
                                 const std::vector<StageAxis>& outer,
                                 const std::vector<StageAxis>& axes) const;
  std::string factor(const char* name, const char* type, const std::vector<StageAxis>& axes,
                     const std::string& text) const;
  std::string store() const;

  bool found_ = false;
  std::string a_{}, b_{};  // texts of the factors
  std::vector<StageAxis> batch_{}, m_{}, n_{}, k_{};
};

}  // namespace cupilot
