// Opening the vendor's libraries at run time, wherever they are installed.
#pragma once

#include <string>
#include <vector>

namespace cupilot {

struct OpenedLibrary {
  void* handle = nullptr;
  std::string path;    // the file that was opened
  std::string reason;  // why none was, naming what was looked for
};

// toolkit: $CUDA_HOME, $CUDA_PATH, where the headers were found when this was built,
// /usr/local/cuda. Only a process of our own may look there: a host's environment is not read.
enum class LibraryPlaces { loader, loader_and_toolkit };

// Tries each name in the loader's own folders, then in the toolkit's; a path as it stands.
OpenedLibrary open_library(const std::vector<std::string>& names,
                           LibraryPlaces where = LibraryPlaces::loader_and_toolkit);

// Folders that hold a toolkit's libraries, existing or not.
std::vector<std::string> toolkit_library_folders();

}  // namespace cupilot
