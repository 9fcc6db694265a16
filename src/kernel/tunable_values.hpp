// From a strategy's words to the numbers of a template, and whether those are legal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// A value for every parameter of the template: the strategy's where it uses the technique, the
// parameter's plain value where it does not. A value the strategy leaves out is the technique's
// default, or the domain's nearest to it. A knob of the template's own is looked up in the Use
// named like the template. Error{usage} names a value outside its domain.
Result<Constants> constants_for(const Tunable& tunable, const Task& task, const Strategy& strategy);

// nullopt: legal. Else the first that fails: a restriction of the template, or a limit of the
// device that its launches pass whatever the sizes (threads, shared memory, estimated registers).
std::optional<std::string> broken_restriction(const Tunable& tunable, const Task& task,
                                              const DeviceSpec& device, const Constants& constants);

// Names a template's `when` may use: task constants, elem.T, class.NAME.
ExprScope task_class_scope(const Task& task);

}  // namespace cupilot
