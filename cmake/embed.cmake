# cupilot_embed(TARGET NAME files...): compiles files into TARGET as `std::span<const EmbeddedFile> NAME()` (base/embedded.hpp),
# named by their path under kernels/ or src/agents/.
function(cupilot_embed target name)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  set(inputs)
  foreach(file ${ARGN})
    list(APPEND inputs ${PROJECT_SOURCE_DIR}/${file})
  endforeach()
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAME=${name} "-DFILES=${ARGN}" -DROOT=${PROJECT_SOURCE_DIR}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake VERBATIM)
  # The target belongs to another directory: its sources there are made by a target of this one.
  add_custom_target(${target}_${name} DEPENDS ${output})
  set_source_files_properties(${output} TARGET_DIRECTORY ${target} PROPERTIES GENERATED TRUE SKIP_UNITY_BUILD_INCLUSION ON)
  add_dependencies(${target} ${target}_${name})
  target_sources(${target} PRIVATE ${output})
endfunction()
