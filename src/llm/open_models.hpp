// Models behind another carrier than the network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cupilot/parts/models.hpp>

#include "llm/http.hpp"

namespace cupilot {

// As open_models().
Result<std::unique_ptr<ChatClient>> open_models_by(HttpCarrier carry, const ModelsConfig& config,
                                                   const ModelOptions& options);

}  // namespace cupilot
