# SPDX-License-Identifier: Apache-2.0
#
# Builds code for the explorer from sources that are not changed (docs/explored.md), in this tree and in those that find
# the installed package with its component `explore`.
#
#   ringside_add_explored(NAME SOURCES file... [LIBRARY] [KERNEL_MACROS]
#                         [INCLUDE_DIRECTORIES dir...] [COMPILE_OPTIONS option...] [DEFINITIONS definition...]
#                         [LINK target...])
#
# Without LIBRARY, NAME is a program that explores what its sources register (explore/explored.h). With it, NAME is
# something to link a program of one's own with. KERNEL_MACROS puts a <linux/compiler.h> before all others in which
# smp_load_acquire, READ_ONCE and so on are atomic accesses: for libbpf and code like it. LINK gives the include
# directories and definitions of targets to the sources, and links the program with them.
#
# The sources are compiled with -fsanitize=thread; their objects are joined, and what they call of libc and libstdc++ is
# renamed to the runtime's functions of the same names (explored_object.cmake). The program is not linked with
# -fsanitize=thread: the runtime stands for ThreadSanitizer's.

# Those of GNU: others join objects in ways of their own. With clang CMake may have found LLVM's.
find_program(RINGSIDE_LD NAMES ld.bfd ld REQUIRED)
find_program(RINGSIDE_NM NAMES ${CMAKE_LIBRARY_ARCHITECTURE}-nm nm REQUIRED)
find_program(RINGSIDE_OBJDUMP NAMES ${CMAKE_LIBRARY_ARCHITECTURE}-objdump objdump REQUIRED)
find_program(RINGSIDE_OBJCOPY NAMES ${CMAKE_LIBRARY_ARCHITECTURE}-objcopy objcopy REQUIRED)

set(ringside_explored_script_dir ${CMAKE_CURRENT_LIST_DIR})
# The installed package says where its headers are.
if(NOT DEFINED ringside_explored_include_dir)
  set(ringside_explored_include_dir ${CMAKE_CURRENT_LIST_DIR}/..)
endif()
set(ringside_explored_shim_dir ${ringside_explored_include_dir}/explore/runtime/shim)
# A compiler passes over a folder of headers that is not there, and would take others of that name.
if(NOT EXISTS ${ringside_explored_shim_dir}/kernel/linux/compiler.h)
  message(FATAL_ERROR "ringside_add_explored: no ${ringside_explored_shim_dir}/kernel/linux/compiler.h")
endif()

function(ringside_add_explored name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LIBRARY;KERNEL_MACROS" ""
    "SOURCES;INCLUDE_DIRECTORIES;COMPILE_OPTIONS;DEFINITIONS;LINK")
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "ringside_add_explored(${name}): no SOURCES")
  endif()
  set(objects ${name}_objects)
  add_library(${objects} OBJECT ${arg_SOURCES})
  target_link_libraries(${objects} PRIVATE ${arg_LINK})
  target_compile_features(${objects} PRIVATE cxx_std_20)
  if(arg_KERNEL_MACROS)
    target_include_directories(${objects} BEFORE PRIVATE ${ringside_explored_shim_dir}/kernel)
  endif()
  target_include_directories(${objects} PRIVATE ${arg_INCLUDE_DIRECTORIES} ${ringside_explored_include_dir})
  target_compile_definitions(${objects} PRIVATE ${arg_DEFINITIONS}
    # The standard library's templates are compiled with the sources, and so are seen.
    $<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_EXTERN_TEMPLATE=0>)
  target_compile_options(${objects} PRIVATE -g1 ${arg_COMPILE_OPTIONS}
    # Whatever else the build wants to have checked is the runtime's own affair.
    -fno-sanitize=all -fsanitize=thread
    # What compilers know of these functions they expand without a trace.
    -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -fno-builtin-memcmp -fno-builtin-strlen
    -fno-builtin-strcmp
    "$<$<C_COMPILER_ID:GNU>:--param=tsan-distinguish-volatile=1;-Wno-tsan>"
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<C_COMPILER_ID:GNU>>:-fno-gnu-unique>
    "$<$<C_COMPILER_ID:Clang>:SHELL:-mllvm -tsan-distinguish-volatile=1;-fno-addrsig>")

  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.explored.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -D OUTPUT=${object} -D "OBJECTS=$<JOIN:$<TARGET_OBJECTS:${objects}>,|>"
      -D RUNTIME=$<TARGET_FILE:ringside::explore_runtime> -D LINKER=${RINGSIDE_LD} -D NM=${RINGSIDE_NM}
      -D OBJCOPY=${RINGSIDE_OBJCOPY} -D OBJDUMP=${RINGSIDE_OBJDUMP}
      -P ${ringside_explored_script_dir}/explored_object.cmake
    DEPENDS ${objects} $<TARGET_OBJECTS:${objects}> $<TARGET_FILE:ringside::explore_runtime>
      ${ringside_explored_script_dir}/explored_object.cmake ${ringside_explored_script_dir}/explored_object.ld
    COMMENT "Making ${name} ready for the explorer" VERBATIM)

  if(arg_LIBRARY)
    add_custom_target(${name}_ready DEPENDS ${object})
    add_library(${name} INTERFACE)
    add_dependencies(${name} ${name}_ready)
    target_link_libraries(${name} INTERFACE ${object} ringside::explore_runtime ${arg_LINK})
  else()
    add_executable(${name} ${object})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${name} PRIVATE ringside::explore_main ringside::explore_runtime ${arg_LINK})
  endif()
endfunction()
