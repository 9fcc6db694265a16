# Configures SOURCE with PREFIX as the one place to look for cupilot, builds its PROGRAM in BINARY, runs it with ARGUMENTS and reads
# what it says.
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} ended with ${status}:\n${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${BINARY})
step("configuring" ${CMAKE_COMMAND} -S ${SOURCE} -B ${BINARY} -G Ninja -DCMAKE_PREFIX_PATH=${PREFIX} -DCUPILOT_ROOT=${ROOT})
step("building" ${CMAKE_COMMAND} --build ${BINARY} --target ${PROGRAM})
step("running" ${CMAKE_COMMAND} -E chdir / ${BINARY}/${PROGRAM} ${ARGUMENTS})
if(NOT said MATCHES "${SAYS}")
  message(FATAL_ERROR "the program said\n${said}\nand nothing like '${SAYS}'")
endif()
message("${said}")
