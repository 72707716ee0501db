# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts where, and the package that `find_package(ringside)` finds:
#   bin/ringside                      the command
#   bin/explored/                     the explored programs that ship, where the command looks for them
#   include/ringside/ring/*.h         the public headers; the include path is include/ringside, so that
#                                     #include "ring/consumer.h" reads the same inside and outside this tree
#   lib/libringside_ring.a            ringside::ring, the C++ library (record, judge, ledgers)
#   lib/cmake/ringside/               ringside::ring and ringside::consumer (the C contract alone, no library)
#   share/ringside/scenarios/*.toml   the shipped scenarios
include(CMakePackageConfigHelpers)

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
  install(TARGETS ringside RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET missed_wakeups)
  install(TARGETS bpf_rings missed_wakeups perf_rings RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}/explored)
endif()

configure_package_config_file(cmake/ringsideConfig.cmake.in ${PROJECT_BINARY_DIR}/ringsideConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ringsideConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ringsideConfig.cmake ${PROJECT_BINARY_DIR}/ringsideConfigVersion.cmake
  DESTINATION ${package_dir})
