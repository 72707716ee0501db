# SPDX-License-Identifier: Apache-2.0
#
# How the targets of this tree are made: one library a folder, unit tests beside the code, one set of warnings.

add_library(ringside_options INTERFACE)
target_compile_features(ringside_options INTERFACE cxx_std_20 c_std_11)
target_include_directories(ringside_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_options(ringside_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  -Wno-pedantic -Werror)
target_compile_options(ringside_options INTERFACE $<$<COMPILE_LANGUAGE:C>:-Wno-old-style-cast -Wno-non-virtual-dtor>)

# ringside_library(NAME SOURCES file... [LINK target...])
function(ringside_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(ringside_${name} STATIC ${arg_SOURCES})
  target_link_libraries(ringside_${name} PUBLIC $<BUILD_INTERFACE:ringside_options> ${arg_LINK})
  set_target_properties(ringside_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# ringside_test(NAME SOURCES file... [LINK target...] [LABELS label...] [TIMEOUT seconds])
# One GoogleTest program; each of its tests is a test of ctest. Labels: unit, props, kernel (needs privilege), tidy.
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
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ringside_options ${arg_LINK} rapidcheck GTest::gtest_main)
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
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
