# Each public header must compile alone under clang, and all together under g++ too, warnings as errors; bootstrap installs both.
if(NOT CUPILOT_SANITIZE)
  add_test(NAME headers COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/headers_alone ${PROJECT_SOURCE_DIR}/include clang++-14 g++)
endif()
