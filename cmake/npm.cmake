# cupilot_npm(NAME FOLDER WITHOUT): the npm packages that the lock file in the source folder FOLDER pins, in the build tree;
# sets NAME_DIR, which gets node_modules/, and NAME_STAMP, which a command that uses them depends on. They are fetched when
# missing or when the lock file changed, and run no scripts of their own. WITHOUT: what to do on a machine that has no npm.
function(cupilot_npm name folder without)
  find_program(CUPILOT_NPM npm)
  find_program(CUPILOT_NODE node)
  if(NOT CUPILOT_NPM OR NOT CUPILOT_NODE)
    message(FATAL_ERROR "npm was not found; it fetches the packages of ${folder}/package.json. Install Node.js 18 or later "
      "with npm (Debian: apt-get install nodejs npm), or ${without}.")
  endif()
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name}_packages)
  set(inputs ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/package.json ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/package-lock.json)
  add_custom_command(OUTPUT ${dir}/installed
    COMMAND ${CMAKE_COMMAND} -DNPM=${CUPILOT_NPM} -DDIR=${dir} "-DINPUTS=${inputs}" "-DWITHOUT=${without}"
            -P ${PROJECT_SOURCE_DIR}/cmake/npm_install.cmake
    DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/cmake/npm_install.cmake
    COMMENT "Fetching the npm packages of ${folder}" VERBATIM)
  set(${name}_DIR ${dir} PARENT_SCOPE)
  set(${name}_STAMP ${dir}/installed PARENT_SCOPE)
endfunction()
