# How everything is compiled: warnings, sanitizers, precompiled headers, unity builds, ccache.

# Sources of one folder are compiled together, which halves the build. `dev` compiles each alone.
if(NOT DEFINED CMAKE_UNITY_BUILD AND NOT CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo)
  set(CMAKE_UNITY_BUILD ON)
endif()
if(NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
endif()

# ccache keeps what it compiled, precompiled headers included.
find_program(CUPILOT_CCACHE ccache)
if(CUPILOT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CUPILOT_CCACHE})
endif()

# Libraries and programs are compiled alike, so that they share precompiled headers.
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)

add_library(cupilot_options INTERFACE)
target_compile_options(cupilot_options INTERFACE -fPIC -Wall -Wextra -Wconversion -Wno-sign-conversion
  -fvisibility=hidden -fvisibility-inlines-hidden
  # In a unity build a source's own names may hide those of its neighbours.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Unique symbols are one for the whole process; objcopy makes none of them local.
  target_compile_options(cupilot_options INTERFACE -fno-gnu-unique)
  # g++ takes a unity source for a header, whose types should not have fields of a source's own.
  target_compile_options(cupilot_options INTERFACE $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-subobject-linkage>)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(cupilot_options INTERFACE -Wno-restrict)  # GCC bug 105651: false overlaps in std::string
  endif()
endif()
target_include_directories(cupilot_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
target_link_libraries(cupilot_options INTERFACE Threads::Threads fmt::fmt)

if(CUPILOT_SANITIZE)
  target_compile_options(cupilot_options INTERFACE -fsanitize=${CUPILOT_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(cupilot_options INTERFACE -fsanitize=${CUPILOT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    string(REGEX REPLACE ",.*" "" sanitizer ${CUPILOT_SANITIZE})
    string(TOUPPER ${sanitizer} sanitizer)
    target_compile_definitions(cupilot_options INTERFACE __SANITIZE_${sanitizer}__=1)  # as g++ defines it
    target_compile_options(cupilot_options INTERFACE
      -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizer_ignore.txt)
  endif()
  if(CUPILOT_SANITIZE MATCHES undefined)
    # Both need type information of other libraries: nothing is reported of a wrong vptr or function type.
    target_compile_options(cupilot_options INTERFACE -fno-sanitize=vptr)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      target_compile_options(cupilot_options INTERFACE -fno-sanitize=function)
    endif()
  endif()
endif()
if(CUPILOT_FUZZ_COVERAGE)
  target_compile_options(cupilot_options INTERFACE -fsanitize-coverage=trace-pc)
endif()

# Headers that most sources include, compiled once. Sources still name what they use: -DCUPILOT_PRECOMPILE=OFF builds.
option(CUPILOT_PRECOMPILE "Precompile common headers" ON)
set(CUPILOT_COMMON_HEADERS <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <map>
  <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <utility> <variant>
  <vector> <fmt/format.h> <nlohmann/json.hpp>)

# cupilot_precompiled(NAME LINK HEADERS...): the target NAME, whose precompiled headers others reuse.
function(cupilot_precompiled name link)
  if(CUPILOT_PRECOMPILE)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp CONTENT "")  # written only if absent
    add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cpp)
    target_link_libraries(${name} PRIVATE ${link} nlohmann_json::nlohmann_json)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # so that ccache knows it again
    endif()
    target_precompile_headers(${name} PRIVATE ${CUPILOT_COMMON_HEADERS} ${ARGN})
  endif()
endfunction()

# cupilot_precompile(TARGET NAME): TARGET uses the headers that NAME precompiled.
function(cupilot_precompile target name)
  if(CUPILOT_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
cupilot_precompiled(cupilot_common cupilot_options)
