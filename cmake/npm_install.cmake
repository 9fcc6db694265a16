# Fetches into DIR what INPUTS, a package.json and its lock file, name; DIR/installed tells that it is whole.
file(REMOVE ${DIR}/installed)
file(MAKE_DIRECTORY ${DIR})
file(COPY ${INPUTS} DESTINATION ${DIR})
execute_process(COMMAND ${NPM} ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error
  WORKING_DIRECTORY ${DIR} RESULT_VARIABLE failed OUTPUT_QUIET)
if(failed)
  list(GET INPUTS 0 package)
  message(FATAL_ERROR "npm could not fetch the packages of ${package} (above). The first build needs the npm registry, or an "
    "npm cache that has them; without either, ${WITHOUT}.")
endif()
file(TOUCH ${DIR}/installed)
