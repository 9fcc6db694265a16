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

# cupilot_public_object(OUTPUT NAMES ARCHIVES...): one object file of all that the targets ARCHIVES hold, in which only visible
# names that the file NAMES lists stay global. So a program's own Eigen, fmt or nlohmann/json, compiled by other flags, replaces
# none of theirs. Groups of inline functions are dissolved: the linker would drop them for those of the program.
find_program(CUPILOT_LD NAMES ld.bfd ld REQUIRED)  # of binutils: lld 14 dissolves no groups
find_program(CUPILOT_OBJCOPY NAMES objcopy REQUIRED)
function(cupilot_public_object output names)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${output})
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CUPILOT_LD} -r --force-group-allocation --whole-archive ${files} -o ${object}.whole
    COMMAND ${CUPILOT_OBJCOPY} --localize-hidden --wildcard --keep-global-symbols=${names} --remove-section=.llvm_addrsig
            ${object}.whole ${object}
    COMMAND ${CMAKE_COMMAND} -E rm ${object}.whole
    DEPENDS ${ARGN} ${names} VERBATIM)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endfunction()
