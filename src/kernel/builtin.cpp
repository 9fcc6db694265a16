#include "kernel/builtin.hpp"

#include <cassert>

#include "base/embedded.hpp"

namespace cupilot {
namespace {

// Headers of the family folder that `prefix` names.
std::shared_ptr<const DeviceHeaders> headers_under(const std::string& prefix) {
  auto headers = std::make_shared<DeviceHeaders>();
  for (const EmbeddedFile& file : kernel_files()) {
    if (file.name.starts_with(prefix) && file.name.ends_with(".cuh"))
      headers->emplace(file.name.substr(prefix.size()), file.text);
  }
  return headers;
}

// Folder of an embedded file, with the slash.
std::string folder_of(std::string_view name) {
  return std::string(name.substr(0, name.rfind('/') + 1));
}

}  // namespace

Result<std::vector<Tunable>> parse_builtins() {
  std::vector<Tunable> all;
  std::map<std::string, std::shared_ptr<const DeviceHeaders>> headers;
  for (const EmbeddedFile& file : kernel_files()) {
    const std::size_t folder = file.name.find("/templates/");
    if (folder == std::string_view::npos || !file.name.ends_with(".cu")) continue;
    const std::string family(file.name.substr(0, folder));
    auto& own = headers[family];
    if (!own) own = headers_under(family + "/device/");
    auto tunable = parse_tunable(file.text, "builtin " + std::string(file.name));
    if (!tunable) return std::move(tunable.error());
    tunable->headers = own;
    for (const EmbeddedFile& beside : kernel_files()) {
      if (beside.name != folder_of(file.name) + "model.json") continue;
      auto set = set_model_weights(*tunable, beside.text, "builtin " + std::string(beside.name));
      if (!set) return std::move(set.error());
    }
    all.push_back(std::move(*tunable));
  }
  return all;
}

const std::vector<Tunable>& builtin_tunables() {
  static const std::vector<Tunable> all = [] {
    auto parsed = parse_builtins();
    assert(parsed && "a built-in template does not parse");
    return parsed ? std::move(*parsed) : std::vector<Tunable>{};
  }();
  return all;
}

}  // namespace cupilot
