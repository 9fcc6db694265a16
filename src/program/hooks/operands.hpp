// Operands of a sum of products, as the stages of a reference find them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cupilot/task.hpp>

#include "program/hooks/product.hpp"

namespace cupilot {

using Names = std::vector<std::string>;

// A factor of a term: a tensor at coordinates, as they lie in memory.
struct Factor {
  std::string tensor{};
  Names at{};  // without those of extent 1
};

// The one value that a text is: its read and coordinates. nullopt: it computes something.
std::optional<std::pair<const StageRead*, Names>> value_of(const ReferenceStage& stage,
                                                           const std::string& text);

const ReferenceStage* stage_named(const Task& task, const std::string& name);

// Follows stages that hand a tensor on in another order. nullopt: the text is no element of a
// tensor of floats, or at places that are computed.
std::optional<Factor> factor_of(const Task& task, const ReferenceStage& stage,
                                const std::string& text);

// The texts of both factors of `a * b`.
std::optional<std::pair<std::string, std::string>> factor_texts(const std::string& term);

// Lays a fold of factors a and b out as a product, its coordinates in the order batch, m, n.
std::optional<GraphProduct> laid_out(const ReferenceStage& fold, const Factor& a, const Factor& b);

}  // namespace cupilot
