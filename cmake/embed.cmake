# cupilot_embed(TARGET NAME GLOBS...): compiles the files that GLOBS match into TARGET as
# `std::span<const EmbeddedFile> NAME()` (base/embedded.hpp), named by their path under kernels/ or src/.
function(cupilot_embed target name)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${ARGN})
  string(REPLACE ";" "," files "${inputs}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAME=${name} -DFILES=${files} -DROOT=${PROJECT_SOURCE_DIR}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake VERBATIM)
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
