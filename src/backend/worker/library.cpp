#include "backend/worker/library.hpp"

#include <cstdlib>

#include <dlfcn.h>
#include <link.h>

namespace cupilot {

std::vector<std::string> toolkit_library_folders() {
  std::vector<std::string> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* value = std::getenv(name); value != nullptr && value[0] != '\0')
      roots.emplace_back(value);
  }
  roots.emplace_back(CUPILOT_CUDA_ROOT);
  roots.emplace_back("/usr/local/cuda");
  std::vector<std::string> folders;
  for (const std::string& root : roots) {
    for (const char* tail : {"/lib64", "/lib", "/targets/x86_64-linux/lib", "/extras/CUPTI/lib64"})
      folders.push_back(root + tail);
  }
  folders.emplace_back("/usr/local/nvidia/lib64");
  folders.emplace_back("/usr/lib/wsl/lib");
  return folders;
}

OpenedLibrary open_library(const std::vector<std::string>& names, LibraryPlaces where) {
  OpenedLibrary opened;
  std::string last;
  std::vector<std::string> folders;
  if (where == LibraryPlaces::loader_and_toolkit) folders = toolkit_library_folders();
  for (const std::string& name : names) {
    std::vector<std::string> places{name};
    if (name.find('/') == std::string::npos)
      for (const std::string& folder : folders) places.push_back(folder + "/" + name);
    for (const std::string& place : places) {
      opened.handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (opened.handle == nullptr) {
        if (const char* error = dlerror()) last = error;
        continue;
      }
      const link_map* entry = nullptr;
      opened.path = place;
      if (dlinfo(opened.handle, RTLD_DI_LINKMAP, &entry) == 0 && entry != nullptr)
        opened.path = entry->l_name;
      return opened;
    }
  }
  opened.reason = "not found:";
  for (const std::string& name : names) opened.reason += " " + name;
  if (!last.empty()) opened.reason += " (" + last + ")";
  return opened;
}

}  // namespace cupilot
