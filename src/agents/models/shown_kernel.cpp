#include "agents/models/shown_kernel.hpp"

#include "agents/models/untrusted.hpp"
#include "agents/write/device_headers.hpp"
#include "agents/write/template_text.hpp"

namespace cupilot {

std::string shown_text(const KernelSource& source) {
  KernelSource shown = source;
  shown.text = with_includes(source.text);
  shown.template_name.clear();
  shown.strategy_id.clear();
  return standalone_text(shown, {});
}

std::string kernel_text(std::string_view name, const KernelSource& source, std::size_t longest) {
  return fenced(name, shown_text(source), longest);
}

}  // namespace cupilot
