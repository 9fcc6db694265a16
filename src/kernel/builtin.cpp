#include "kernel/builtin.hpp"

#include <cassert>

#include "base/embedded.hpp"
#include "kernel/tunable_model.hpp"

namespace cupilot {
namespace {

constexpr std::string_view builtin_origin = "builtin ";  // before an embedded file's name in errors

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

// "": no such file.
std::string_view text_of(std::string_view name) {
  for (const EmbeddedFile& file : kernel_files()) {
    if (file.name == name) return file.text;
  }
  return {};
}

// Gives the templates of each folder the numbers of its model.json.
Result<void> set_weights(std::vector<Tunable>& all) {
  std::map<std::string, std::vector<Tunable*>> folders;
  for (Tunable& tunable : all)
    folders[folder_of(std::string_view(tunable.file).substr(builtin_origin.size()))].push_back(
        &tunable);
  for (const auto& [folder, templates] : folders) {
    const std::string name = folder + "model.json";
    const std::string file = std::string(builtin_origin) + name;
    if (auto set = set_folder_weights(templates, text_of(name), file); !set) return set;
  }
  return {};
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
    auto tunable = parse_tunable(file.text, std::string(builtin_origin) + std::string(file.name));
    if (!tunable) return std::move(tunable.error());
    tunable->headers = own;
    all.push_back(std::move(*tunable));
  }
  if (auto set = set_weights(all); !set) return std::move(set.error());
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
