# cupilot_module(NAME DEPS...): one folder of src/ as a static library with the folders it may include.
add_library(cupilot_options INTERFACE)
target_compile_options(cupilot_options INTERFACE -Wall -Wextra -Wconversion -Wno-sign-conversion -fvisibility=hidden
  -fvisibility-inlines-hidden
  # What stands in a source that is compiled beside another hides nothing of its.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
# g++ 12 sees overlaps in std::string concatenation that are not there (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(cupilot_options INTERFACE -Wno-restrict)
endif()
# What is compiled together looks to g++ like a header, whose types should not have fields of a source's own.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(cupilot_options INTERFACE $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-subobject-linkage>)
endif()
target_include_directories(cupilot_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
target_link_libraries(cupilot_options INTERFACE Threads::Threads fmt::fmt)
if(CUPILOT_SANITIZE)
  target_compile_options(cupilot_options INTERFACE -fsanitize=${CUPILOT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(cupilot_options INTERFACE -fsanitize=${CUPILOT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # As g++ tells a source what it is built for.
    string(REGEX REPLACE ",.*" "" sanitizer ${CUPILOT_SANITIZE})
    string(TOUPPER ${sanitizer} sanitizer)
    target_compile_definitions(cupilot_options INTERFACE __SANITIZE_${sanitizer}__=1)
    target_compile_options(cupilot_options INTERFACE -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizer_ignore.txt)
  endif()
  if(CUPILOT_SANITIZE MATCHES undefined)
    target_compile_options(cupilot_options INTERFACE -fno-sanitize=vptr)  # a wrong vptr goes unseen
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      # g++ does not know it, and the type that it writes beside each function is a quarter of an object.
      target_compile_options(cupilot_options INTERFACE -fno-sanitize=function)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # They double the compile time there, and AddressSanitizer traps most of what they would.
      target_compile_options(cupilot_options INTERFACE -fno-sanitize=null,object-size)
    endif()
  endif()
endif()
# For what makes no pointers of bytes: none of its is misaligned, and AddressSanitizer traps a null one and one beyond its object.
# Looking at each of them besides takes a seventh of clang's time, and a quarter in tests.
add_library(cupilot_plain_pointers INTERFACE)
target_link_libraries(cupilot_plain_pointers INTERFACE cupilot_options)
if(CUPILOT_SANITIZE MATCHES undefined)
  target_compile_options(cupilot_plain_pointers INTERFACE -fno-sanitize=null,alignment,object-size)
endif()
if(CUPILOT_FUZZ_COVERAGE)
  target_compile_options(cupilot_options INTERFACE -fsanitize-coverage=trace-pc)
endif()

# Those of modules that are optimised beside others that are not stand apart. (The sanitizers' are too few.)
cupilot_precompiled(cupilot_common)
set(optimised_headers cupilot_common)
if(CUPILOT_COLD_OPTIONS AND NOT CUPILOT_SANITIZE)
  set(optimised_headers cupilot_optimised_common)
  cupilot_precompiled(${optimised_headers})
endif()
if(TARGET cupilot_common)
  foreach(headers cupilot_common ${optimised_headers})
    target_link_libraries(${headers} PRIVATE cupilot_options nlohmann_json::nlohmann_json)
  endforeach()
  target_compile_options(cupilot_common PRIVATE ${CUPILOT_COLD_OPTIONS})
endif()

# Modules that run for long: all others are compiled with CUPILOT_COLD_OPTIONS, which takes about half the time.
set(CUPILOT_OPTIMISED base ptx strategy kernel agents)
set(CUPILOT_OPTIMISE -O2)
if(CUPILOT_SANITIZE)
  set(CUPILOT_OPTIMISE -O1)
else()
  list(APPEND CUPILOT_OPTIMISED evolution)  # thousands of simulated searches, which no sanitizer runs
endif()

function(cupilot_module name)
  add_library(cupilot_${name} STATIC)
  set_target_properties(cupilot_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(cupilot_${name} PUBLIC cupilot_options)
  if(NOT name IN_LIST CUPILOT_OPTIMISED)
    cupilot_cold(cupilot_${name})
  elseif(NOT CUPILOT_SANITIZE)
    cupilot_precompile(cupilot_${name} ${optimised_headers})
  elseif(NOT name MATCHES "^(base|ptx)$")
    target_compile_options(cupilot_${name} PRIVATE -Oz)  # inlines less, and each copy would be watched: half the time
  endif()
  if(NOT name MATCHES "^(base|ptx|backend)$")
    target_link_libraries(cupilot_${name} PRIVATE cupilot_plain_pointers)
  endif()
  foreach(dep ${ARGN})
    target_link_libraries(cupilot_${name} PUBLIC cupilot_${dep})
  endforeach()
endfunction()

# cupilot_cold(TARGET): nothing of it runs for long. A program is compiled as libraries are, whose precompiled headers it uses.
function(cupilot_cold target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC ${CUPILOT_COLD_OPTIONS})
  cupilot_precompile(${target} cupilot_common)
endfunction()

# cupilot_optimised(TARGET sources...): are optimised though not their module.
function(cupilot_optimised target)
  if(CUPILOT_COLD_OPTIONS)
    cupilot_alone(${target} ${ARGN})
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
      COMPILE_OPTIONS ${CUPILOT_OPTIMISE})
  endif()
endfunction()

# cupilot_alone(TARGET sources...): their names collide with those of the sources that a unity build compiles them with. All presets
# but `dev` build so: it takes half the time.
function(cupilot_alone target)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
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

# cupilot_reaches(TEST): its expect_code() counts for the test that every rejection code is reached (tests/reached).
# The longest begin first, so that none is left to one processor at the end.
set(CUPILOT_REACHED ${PROJECT_BINARY_DIR}/reached.txt)
set(CUPILOT_LONGEST cli backend_process evolution ptx backend_virtual endurance wisdom models task fuzz agents llm)
function(cupilot_reaches name)
  set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED reached
    ENVIRONMENT_MODIFICATION "CUPILOT_REACHED=set:${CUPILOT_REACHED};CUPILOT_TEST=set:${name};CUPILOT_POOL=set:off")
  if(CUPILOT_SANITIZE)  # whole stacks of each allocation take a tenth of the time, and memory never used again a twentieth
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=malloc_context_size=8:quarantine_size_mb=32)
  endif()
  set_property(GLOBAL APPEND PROPERTY CUPILOT_REACHED_TESTS ${name})
  list(FIND CUPILOT_LONGEST ${name} place)
  if(place GREATER_EQUAL 0)
    math(EXPR cost "1000 - ${place}")  # beyond the seconds that an earlier run noted
    set_tests_properties(${name} PROPERTIES COST ${cost})
  endif()
endfunction()

# cupilot_test(MODULE sources...): one test program a folder, named test_MODULE. CUPILOT_TEST_ARGUMENTS_MODULE: what it is told.
function(cupilot_test name)
  cupilot_test_program(${name} ${ARGN})
  target_link_libraries(test_${name} PRIVATE ${CUPILOT_TEST_LINK_${name}})
  cupilot_precompile(test_${name} cupilot_test_common)
endfunction()

# cupilot_test_program(NAME sources...): the program test_NAME and the test that runs it. ThreadSanitizer gets the cases that bear
# [threads], which are those that start some, and sources that have any or none; CUPILOT_APART_NAME is a source whose cases are a test
# of their own there.
function(cupilot_test_program name)
  set(sources ${ARGN})
  set(arguments ${CUPILOT_TEST_ARGUMENTS_${name}})
  if(CUPILOT_SANITIZE STREQUAL thread)
    set(arguments "[threads]")
    foreach(source ${ARGN})
      file(STRINGS ${source} cases REGEX "^TEST_CASE\\(")
      file(STRINGS ${source} threaded REGEX "\\[threads\\]\"\\)")
      if(cases AND NOT threaded)
        list(REMOVE_ITEM sources ${source})
      endif()
    endforeach()
  endif()
  cupilot_of_release(test_${name} sources)
  add_executable(test_${name} ${sources})
  set_target_properties(test_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(test_${name} PRIVATE cupilot_test_main)
  set(tests ${name})
  if(CUPILOT_SANITIZE STREQUAL thread AND CUPILOT_APART_${name})
    list(APPEND tests ${CUPILOT_APART_${name}})
    set(arguments --filenames-as-tags "[threads]~[\#${CUPILOT_APART_${name}}]")
    set(CUPILOT_ARGUMENTS_${CUPILOT_APART_${name}} --filenames-as-tags "[threads][\#${CUPILOT_APART_${name}}]")
  endif()
  set(CUPILOT_ARGUMENTS_${name} ${arguments})
  foreach(test ${tests})
    add_test(NAME ${test} COMMAND test_${name} ${CUPILOT_ARGUMENTS_${test}} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    cupilot_reaches(${test})
    if(name IN_LIST CUPILOT_TAGGED)
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT CUPILOT_TAGGED=1)
    endif()
  endforeach()
endfunction()

# cupilot_of_release(TARGET SOURCES): puts a release's objects of a test program in place of its sources, if CUPILOT_RELEASE is
# one's build folder: AddressSanitizer watches what is tested, not the tests.
set(CUPILOT_RELEASE "" CACHE PATH "Build folder of a release, whose objects tests link rather than be compiled")
set(CUPILOT_WATCHED test_backend_process test_capi test_cli test_endurance test_fuzz test_wisdom)  # name programs, or are no tests alone
function(cupilot_of_release target sources)
  if(NOT CUPILOT_SANITIZE)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/objects/${target} CONTENT "$<JOIN:$<TARGET_OBJECTS:${target}>,\n>\n")
  elseif(CUPILOT_RELEASE AND NOT target IN_LIST CUPILOT_WATCHED)
    set(list ${CUPILOT_RELEASE}/objects/${target})
    if(NOT EXISTS ${list})
      message(FATAL_ERROR "${list}, which names objects of ${target}, is missing: build the preset `release` first, as `make sanitize` does")
    endif()
    file(STRINGS ${list} objects)
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    set(${sources} ${objects} PARENT_SCOPE)
  endif()
endfunction()

# cupilot_optimised_first(PROGRAM): tests are compiled without optimisation, and of two copies of an inline function the linker
# keeps the first it meets: let that be those of the modules that are optimised.
function(cupilot_optimised_first program)
  get_target_property(pending ${program} LINK_LIBRARIES)
  while(pending)
    list(POP_FRONT pending library)
    if(NOT TARGET ${library} OR NOT library MATCHES "^cupilot(_|$)" OR library IN_LIST met)
      continue()
    endif()
    list(APPEND met ${library})
    get_target_property(further ${library} INTERFACE_LINK_LIBRARIES)
    list(APPEND pending ${further})
    get_target_property(folder ${library} SOURCE_DIR)
    string(REGEX REPLACE "^cupilot_" "" module ${library})
    if(module IN_LIST CUPILOT_OPTIMISED)
      list(PREPEND archives $<TARGET_FILE:${library}>)
    elseif(folder STREQUAL "${PROJECT_SOURCE_DIR}/src")
      list(APPEND archives $<TARGET_FILE:${library}>)
    endif()
  endwhile()
  if(archives)
    list(JOIN archives "," archives)
    target_link_options(${program} PRIVATE "LINKER:--whole-archive,${archives},--no-whole-archive")
  endif()
endfunction()
