# Headers that most sources include, compiled once. Sources still name what they use: `cmake -DCUPILOT_PRECOMPILE=OFF` must
# build, and does so by default behind a compiler launcher, since compiler caches cannot see into precompiled headers.
# A source with compile options of its own must skip them (SKIP_PRECOMPILE_HEADERS): they bring the options they were made with.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(precompile_default OFF)
else()
  set(precompile_default ON)
endif()
option(CUPILOT_PRECOMPILE "Precompile common headers" ${precompile_default})

set(CUPILOT_COMMON_HEADERS <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <map> <memory>
  <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)

# cupilot_precompile(TARGET LIKE): TARGET uses the headers that were precompiled for LIKE, whose compile options are the same.
function(cupilot_precompile target like)
  if(CUPILOT_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${like})
  endif()
endfunction()

# cupilot_precompiled(NAME HEADERS...): a target whose precompiled headers others reuse.
function(cupilot_precompiled name)
  if(CUPILOT_PRECOMPILE)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp CONTENT "")  # touched only once: what uses it would be rebuilt
    add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cpp)
    target_precompile_headers(${name} PRIVATE ${CUPILOT_COMMON_HEADERS} ${ARGN})
  endif()
endfunction()
