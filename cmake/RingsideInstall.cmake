# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts where, and the package that `find_package(ringside)` finds:
#   bin/ringside                      the command
#   bin/explored/                     the explored programs that ship, where the command looks for them
#   include/ringside/ring/*.h         the public headers; the include path is include/ringside, so that
#                                     #include "ring/consumer.h" reads the same inside and outside this tree
#   include/ringside/explore/**.h     what explored programs include, and sim/*.h, which the model's producers do
#   lib/libringside_ring.a            ringside::ring, the C++ library (record, judge, ledgers)
#   lib/libringside_explore*.a        what explored programs are linked with, and ringside::explored_rings
#   lib/cmake/ringside/               ringside::ring and ringside::consumer (the C contract alone, no library);
#                                     ringside_add_explored() with the component `explore`
#   share/ringside/scenarios/*.toml   the shipped scenarios
# The component `development` is all but the programs.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ringside)
set(header_dir ${CMAKE_INSTALL_INCLUDEDIR}/ringside)

add_library(ringside_consumer INTERFACE)
target_include_directories(ringside_consumer INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${header_dir}>)
set_target_properties(ringside_consumer PROPERTIES EXPORT_NAME consumer)

set_target_properties(ringside_ring PROPERTIES EXPORT_NAME ring)
target_include_directories(ringside_ring INTERFACE $<INSTALL_INTERFACE:${header_dir}>)
target_compile_features(ringside_ring INTERFACE cxx_std_20)

install(TARGETS ringside_consumer EXPORT ringside_consumer)
install(TARGETS ringside_ring EXPORT ringside ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT ringside_consumer NAMESPACE ringside:: FILE ringsideConsumerTargets.cmake DESTINATION ${package_dir})
install(EXPORT ringside NAMESPACE ringside:: FILE ringsideTargets.cmake DESTINATION ${package_dir})
install(DIRECTORY ring/ DESTINATION ${header_dir}/ring FILES_MATCHING PATTERN "*.h")
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/ringside FILES_MATCHING PATTERN "*.toml")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET ringside)
  install(TARGETS ringside RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
endif()
get_property(shipped_programs GLOBAL PROPERTY RINGSIDE_SHIPPED_PROGRAMS)
if(shipped_programs)
  install(TARGETS ${shipped_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}/explored COMPONENT programs)
endif()

# Explored programs of other trees: the runtime, the model's producers, and how such programs are made.
if(TARGET ringside_explore_runtime)
  set(explored explore explore_main explore_programs explore_report explore_runtime sim)
  foreach(library ${explored})
    set_target_properties(ringside_${library} PROPERTIES EXPORT_NAME ${library})
    target_include_directories(ringside_${library} INTERFACE $<INSTALL_INTERFACE:${header_dir}>)
    target_compile_features(ringside_${library} INTERFACE cxx_std_20)
  endforeach()
  set_target_properties(ringside_explore_programs PROPERTIES EXPORT_NAME explored_rings)
  list(TRANSFORM explored PREPEND ringside_)
  install(TARGETS ${explored} EXPORT ringside_explore ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ringside_explore NAMESPACE ringside:: FILE ringsideExploreTargets.cmake DESTINATION ${package_dir})
  install(DIRECTORY explore/ DESTINATION ${header_dir}/explore FILES_MATCHING PATTERN "*.h" PATTERN test EXCLUDE)
  install(DIRECTORY sim/ DESTINATION ${header_dir}/sim FILES_MATCHING PATTERN "*.h")
  install(FILES cmake/RingsideExplored.cmake cmake/explored_object.cmake cmake/explored_object.ld
    DESTINATION ${package_dir})
endif()

configure_package_config_file(cmake/ringsideConfig.cmake.in ${PROJECT_BINARY_DIR}/ringsideConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_DATADIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ringsideConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ringsideConfig.cmake ${PROJECT_BINARY_DIR}/ringsideConfigVersion.cmake
  DESTINATION ${package_dir})
