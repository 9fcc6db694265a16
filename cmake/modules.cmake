# cupilot_module(NAME DEPS...): the folder NAME of src/ as a static library, with the folders that it links.
function(cupilot_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(main|lanes/[a-z0-9]+)\\.cpp$")
  add_library(cupilot_${name} STATIC ${sources})
  set_target_properties(cupilot_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(cupilot_${name} PUBLIC cupilot_options)
  foreach(dep ${ARGN})
    target_link_libraries(cupilot_${name} PUBLIC cupilot_${dep})
  endforeach()
  cupilot_precompile(cupilot_${name} cupilot_common)
endfunction()

# cupilot_link_map(LIBRARY MAP): a shared library of the project's version that exports what MAP names, and lacks nothing.
function(cupilot_link_map library map)
  set_target_properties(${library} PROPERTIES VERSION ${PROJECT_VERSION} LINK_DEPENDS ${map}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_link_options(${library} PRIVATE -Wl,--version-script=${map})
  if(NOT CUPILOT_SANITIZE)
    target_link_options(${library} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()
