# cupilot_embed(TARGET NAME GLOBS...): compiles the files that GLOBS match into TARGET as
# `std::span<const EmbeddedFile> NAME()` (base/embedded.hpp), named by their path under kernels/ or src/.
function(cupilot_embed target name)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${ARGN})
  cupilot_embed_files(${target} ${name} ${PROJECT_SOURCE_DIR} ${inputs})
endfunction()

# cupilot_embed_files(TARGET NAME ROOT FILES...): the same of FILES, which may be made by the build, named by their path
# under ROOT.
function(cupilot_embed_files target name root)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  string(REPLACE ";" "," files "${ARGN}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAME=${name} -DFILES=${files} -DROOT=${root}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake VERBATIM)
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
