// Device headers (kernels/device and those of families) in kernel texts and prompts.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/dtype.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

// Copies `text` to `out`, each device header in place of its first include; `seen` are those that
// stand there already. `own`: headers beside kernels/device, those of a template's family; null:
// those of all built-in families. Error names an include of "cupilot/..." that does not exist.
// `file`: for messages.
Result<void> inline_device_headers(std::string_view text, const std::string& file,
                                   std::set<std::string>& seen, std::string& out,
                                   const DeviceHeaders* own = nullptr);

// Includes in place of the headers that stand in the text: what a reader is shown.
std::string with_includes(std::string_view text);

// A header without the bodies of its functions and without macros.
std::string outline_of(std::string_view header);

// Outlines of these headers, "mma.cuh"; those that do not exist are left out.
std::string outlines_of(const std::vector<std::string>& names);

// Names of the headers that every kernel may use, and of those for products of this class on this
// generation of devices.
std::vector<std::string> common_headers();
std::vector<std::string> product_headers(Precision precision, int compute_major);
// Names of those for copies by hardware and for clusters.
std::vector<std::string> copy_headers(int compute_major);

// Names of the headers that stand in the text or are included by it, and of which its own lines
// name a function, type or constant.
std::vector<std::string> headers_in(std::string_view text);

}  // namespace cupilot
