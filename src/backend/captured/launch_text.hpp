// The PTX of a captured launch.
#pragma once

#include <optional>
#include <vector>

#include <cupilot/parts/capture.hpp>

#include "backend/captured/fatbin.hpp"
#include "ptx/machine/machine.hpp"

namespace cupilot {

// Returns the PTX of a launch's module that holds its entry: the newest that is not for a newer
// chip than the device, else the oldest.
Result<std::optional<PtxText>> text_for(const Capture& capture, const CapturedModule& module,
                                        const CapturedLaunch& launch);

// Functions that the entry may run.
std::vector<const ptx::Function*> functions_of(const ptx::Program& program);

// True if the entry reads a tensor map: the driver's bytes of one mean nothing to others.
bool takes_maps(const ptx::Program& program);
// Names the instruction by which the entry reads or writes a texture or surface, whose objects and
// arrays no capture holds; "": none.
std::string texture_use(const ptx::Program& program);

}  // namespace cupilot
