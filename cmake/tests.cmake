# The longest tests begin first, so that none is left to one processor at the end.
set(CUPILOT_REACHED ${PROJECT_BINARY_DIR}/reached.txt)
set(CUPILOT_LONGEST cli backend_process evolution ptx backend_virtual endurance wisdom models task fuzz agents llm)

# cupilot_reaches(TEST): its expect_code() counts for the test that every rejection code is reached (tests/reached).
function(cupilot_reaches name)
  set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED reached ENVIRONMENT_MODIFICATION
    "CUPILOT_REACHED=set:${CUPILOT_REACHED};CUPILOT_TEST=set:${name};CUPILOT_POOL=set:off")
  if(CUPILOT_SANITIZE)  # whole stacks of each allocation take a tenth of the time
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=malloc_context_size=8:quarantine_size_mb=32)
  endif()
  set_property(GLOBAL APPEND PROPERTY CUPILOT_REACHED_TESTS ${name})
  list(FIND CUPILOT_LONGEST ${name} place)
  if(place GREATER_EQUAL 0)
    math(EXPR cost "1000 - ${place}")  # beyond the seconds that an earlier run noted
    set_tests_properties(${name} PROPERTIES COST ${cost})
  endif()
endfunction()

# cupilot_test(NAME [SOURCES GLOBS...] [LINK LIBRARIES...] [ARGUMENTS ...] [TAGGED]): the program test_NAME and the test
# that runs it. default: SOURCES is all of tests/NAME. TAGGED: its cases that start threads must bear [threads], which
# are those that ThreadSanitizer runs. ARGUMENTS count for sanitized builds alone.
function(cupilot_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TAGGED" "" "SOURCES;LINK;ARGUMENTS")
  if(NOT arg_SOURCES)
    set(arg_SOURCES ${name}/*.cpp)
  endif()
  list(TRANSFORM arg_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/tests/)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${arg_SOURCES})
  add_executable(test_${name} ${sources})
  set_target_properties(test_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(test_${name} PRIVATE cupilot_test_main ${arg_LINK})
  cupilot_precompile(test_${name} cupilot_test_common)
  set(arguments)
  if(CUPILOT_SANITIZE STREQUAL thread)
    set(arguments "[threads]")
  elseif(CUPILOT_SANITIZE)
    set(arguments ${arg_ARGUMENTS})
  endif()
  add_test(NAME ${name} COMMAND test_${name} ${arguments} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  cupilot_reaches(${name})
  if(arg_TAGGED)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT CUPILOT_TAGGED=1)
  endif()
endfunction()
