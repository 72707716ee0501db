# SPDX-License-Identifier: Apache-2.0
#
# Script: cmake -D OUTPUT=file.o -D OBJECTS=a.o|b.o -D RUNTIME=runtime.a -D LINKER=ld -D NM=nm -D OBJCOPY=objcopy
#         -D OBJDUMP=objdump
#         -P explored_object.cmake
# Joins instrumented objects to one that goes with the explorer's runtime:
# - every function that the runtime has as ringside_explored_NAME is called instead of NAME;
# - what may be defined more than once (inline functions, templates) is the object's own: the rest of the program must
#   not run instrumented copies, nor these the program's;
# - writable static data lies in one section (explored_object.ld).
string(REPLACE "|" ";" objects "${OBJECTS}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${OUTPUT}: ${ARGV0} failed: ${error}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${LINKER} -r -d --force-group-allocation -T ${CMAKE_CURRENT_LIST_DIR}/explored_object.ld -o ${OUTPUT}.joined
  ${objects})

run(${OBJDUMP} --section-headers ${OUTPUT}.joined)
if(output MATCHES "\\.t(data|bss)[^ ]* +[0-9a-f]*[1-9a-f]")
  message(FATAL_ERROR "${OUTPUT}: thread_local variables cannot be explored: the program's threads would share them")
endif()

run(${NM} --defined-only --format=posix ${OUTPUT}.joined)
string(REGEX MATCHALL "[^\n]+" lines "${output}")
set(own "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+) [VWu] ")
    string(APPEND own "${CMAKE_MATCH_1}\n")
  endif()
endforeach()
set(localize "")
if(own)  # objcopy takes no empty list
  file(WRITE ${OUTPUT}.own "${own}")
  set(localize --localize-symbols=${OUTPUT}.own)
endif()

run(${NM} --defined-only --format=posix --extern-only ${RUNTIME})
string(REGEX MATCHALL "(^|\n)ringside_explored_[^ ]+" names "${output}")
set(renamed "")
foreach(name IN LISTS names)
  string(STRIP "${name}" name)
  string(REPLACE "ringside_explored_" "" original "${name}")
  string(APPEND renamed "${original} ${name}\n")
endforeach()
file(WRITE ${OUTPUT}.renamed "${renamed}")

run(${OBJCOPY} ${localize} --redefine-syms=${OUTPUT}.renamed ${OUTPUT}.joined ${OUTPUT})
file(REMOVE ${OUTPUT}.joined)
