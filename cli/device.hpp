// Devices as the program opens them. Of the environment it reads CUPILOT_WORKER, the path of
// cupilot-worker, CUPILOT_COMPILE_CACHE, the folder of compiled images (off: none), CUPILOT_PYTHON,
// the python3 that has PyTorch (default: the first on the PATH), CUPILOT_CUDNN, the path of
// libcudnn.so.9 (default: the loader's, else that of this python3's packages), and for the user's
// folders XDG_DATA_HOME, XDG_CACHE_HOME and HOME. Contestants are given all of it.
#pragma once

#include <memory>
#include <string>

#include <cupilot/backend.hpp>
#include <cupilot/family.hpp>
#include <cupilot/parts/own_kernel.hpp>

namespace cupilot::cli {

// `name` in the folder that the variable names, else in the folder `beside` of the user's home; ""
// where there is neither.
std::string user_path(const char* variable, const char* beside, const char* name);
// Path of the file of measured peaks: cupilot/peaks.json in the user's data folder; "" where there
// is none.
std::string peaks_path();
// Path of the folder of compiled images: CUPILOT_COMPILE_CACHE, else cupilot/compiled in the user's
// cache folder.
std::string compile_cache_path();
// Path of the python3 that contestants run in; "" where there is none.
std::string python_path();
BackendOptions backend_options(int compile_jobs = 0);
// `families`: whose library calls are baselines, beside those of the built-in ones.
Result<std::unique_ptr<Backend>> open_device(const std::string& name, int compile_jobs = 0,
                                             bool counters = true, const Families& families = {});
// For `verb`, which proves what it is given. Error usage: the device runs nothing.
Result<std::unique_ptr<Backend>> open_proving_device(const std::string& name,
                                                     const std::string& verb,
                                                     const Families& families = {});
// Opens a device for a kernel of the user's own; with `verb` "" one that runs nothing will do.
Result<std::unique_ptr<Backend>> open_own_device(const std::string& name, const std::string& verb,
                                                 const OwnRules& rules, bool counters = true);

}  // namespace cupilot::cli
