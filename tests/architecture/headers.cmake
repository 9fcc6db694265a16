# Each public header must compile alone, and all together under clang too, warnings as errors; clang-14 comes with clang-tidy-14.
if(NOT CUPILOT_SANITIZE)
  add_test(NAME headers COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/headers_alone ${PROJECT_SOURCE_DIR}/include ${CMAKE_CXX_COMPILER} clang++-14)
endif()
