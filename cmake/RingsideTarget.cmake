# SPDX-License-Identifier: Apache-2.0
#
# How the targets of this tree are made: one library a folder, unit tests beside the code, one set of warnings.

# GNU extensions (unsigned __int128, statement attributes) are used on purpose, so -Wpedantic is not among the warnings.
set(ringside_warnings -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion)
set(ringside_warnings_cxx -Wold-style-cast -Wnon-virtual-dtor)

add_library(ringside_options INTERFACE)
target_compile_features(ringside_options INTERFACE cxx_std_20 c_std_11)
target_include_directories(ringside_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(ringside_options INTERFACE ${ringside_warnings}
  $<$<COMPILE_LANGUAGE:CXX>:${ringside_warnings_cxx}>
  $<$<BOOL:${RINGSIDE_WERROR}>:-Werror>)

# GCC warns at each std::atomic_thread_fence under -fsanitize=thread, because its ThreadSanitizer does not see fences.
# docs/testing.md says what that means for what the preset can find.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
  target_compile_options(ringside_options INTERFACE -Wno-tsan)
endif()

# With a sanitizer, GCC 12 takes members of the standard library's own types for uninitialised (std::regex in a test).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  target_compile_options(ringside_options INTERFACE -Wno-maybe-uninitialized)
endif()

# ringside_library(NAME SOURCES file... [LINK target...])
function(ringside_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(ringside_${name} STATIC ${arg_SOURCES})
  target_link_libraries(ringside_${name} PUBLIC $<BUILD_INTERFACE:ringside_options> ${arg_LINK})
  set_target_properties(ringside_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# What ctest puts before the programs of our tests: it decides, when they run, whether here or in a VM.
set(ringside_test_launcher ${PROJECT_SOURCE_DIR}/scripts/in_vm)

# The explorer is some forty times slower under sanitizers: tests of explored programs see so many executions of each.
set(ringside_most_executions)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(ringside_most_executions --most 500)
endif()

# ringside_ships(target...)
# Explored programs that ship: they lie beside the command, in bin/explored, where it looks for them.
function(ringside_ships)
  set_target_properties(${ARGN} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/explored)
  set_property(GLOBAL APPEND PROPERTY RINGSIDE_SHIPPED_PROGRAMS ${ARGN})
endfunction()

# ringside_needed_by(LABEL target...)
# Tests with that label need these targets: `tests_LABEL` builds what all of them need.
function(ringside_needed_by label)
  if(NOT TARGET tests_${label})
    add_custom_target(tests_${label})
  endif()
  add_dependencies(tests_${label} ${ARGN})
endfunction()

# ringside_test(NAME SOURCES file... [LINK target...] [LABELS label...] [TIMEOUT seconds])
# One GoogleTest program; each of its tests is a test of ctest. Labels: unit, props, kernel (needs privilege), tidy.
# The tests are listed when ctest starts, not when the program is linked: a few milliseconds a program, and a program
# that cannot run yet does not break the build.
function(ringside_test name)
  if(NOT RINGSIDE_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LINK;LABELS")
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  # A timeout ends what hangs; it must not end what a sanitizer only slows down.
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    math(EXPR arg_TIMEOUT "10 * ${arg_TIMEOUT}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ringside_options ${arg_LINK} rapidcheck GTest::gtest_main)
  foreach(label ${arg_LABELS})
    ringside_needed_by(${label} ${name})
  endforeach()
  # CMake 3.29 has a property for it; before, the emulator of a cross build is put before the tests of any build.
  if(CMAKE_VERSION VERSION_LESS 3.29)
    set_target_properties(${name} PROPERTIES CROSSCOMPILING_EMULATOR ${ringside_test_launcher})
  else()
    set_target_properties(${name} PROPERTIES TEST_LAUNCHER ${ringside_test_launcher})
  endif()
  include(GoogleTest)
  # The names of parameterised tests are those their generator gives, never a value with a pointer in it.
  gtest_discover_tests(${name} TEST_LIST ${name}_tests NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${arg_TIMEOUT})
  # gtest_discover_tests cannot carry a list as a property's value: a file that ctest reads next sets the labels. There,
  # too, is what depends on the caller: an emulated machine is slow; and RapidCheck's properties have one seed, unless
  # the caller has another, so that no run of the tests hangs on the day's luck.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(CONFIGURE OUTPUT ${labels_file} CONTENT
    [[
if(@name@_tests)
  set_tests_properties(${@name@_tests} PROPERTIES LABELS "@arg_LABELS@")
  if(DEFINED ENV{RINGSIDE_VM_KERNEL})
    math(EXPR limit "10 * @arg_TIMEOUT@")
    set_tests_properties(${@name@_tests} PROPERTIES TIMEOUT ${limit})
  endif()
  if(NOT DEFINED ENV{RC_PARAMS})
    set_tests_properties(${@name@_tests} PROPERTIES ENVIRONMENT "RC_PARAMS=seed=20261130")
  endif()
endif()
]] @ONLY)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
endfunction()

# ringside_benchmark(NAME SOURCES file... [LINK target...])
function(ringside_benchmark name)
  if(NOT RINGSIDE_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ringside_options ${arg_LINK} benchmark::benchmark_main)
endfunction()
