// Models behind another carrier than the network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cupilot/parts/models.hpp>

#include "llm/http.hpp"

namespace cupilot {

// The models of a role, "cheap, strong", in the order in which they are asked.
std::vector<std::string> models_of_role(const std::string& role);

// As open_models().
Result<std::unique_ptr<ChatClient>> open_models_by(HttpCarrier carry, const ModelsConfig& config,
                                                   const ModelOptions& options);

}  // namespace cupilot
