# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Checks that a mistake in a program does not compile, and that the compiler's output is readable.
# The lines `// expect: TEXT` of the source contain the parts of this output. Without the macro
# MISTAKE, the source must compile. `// standard: N` sets the language standard of the mistake, and
# `// errors: N` the maximum number of errors, which is 2 otherwise.
#
#   cmake -D COMPILER=<C++ compiler> -D SOURCE=<file> -D INCLUDE_DIRS=<folders, separated by |>
#         -P check_refused.cmake
string(REPLACE "|" ";" dirs "${INCLUDE_DIRS}")
list(TRANSFORM dirs PREPEND "-I")

execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only ${dirs} "${SOURCE}"
                RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must compile without MISTAKE:\n${output}")
endif()

set(standard 20)
file(STRINGS "${SOURCE}" lines REGEX "^// standard: ")
if(lines MATCHES "^// standard: ([0-9]+)")
  set(standard "${CMAKE_MATCH_1}")
endif()
execute_process(
  COMMAND "${COMPILER}" -std=c++${standard} -D MISTAKE -fsyntax-only ${dirs} "${SOURCE}"
  RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must not compile with MISTAKE")
endif()
string(REPLACE ";" "," output "${output}")
string(REPLACE "flotilla::v0_1::" "flotilla::" plain "${output}")  # g++ prints inline namespaces
string(REGEX REPLACE " ([*>])" "\\1" plain "${plain}")  # `float *` of clang, `> >` of g++
file(STRINGS "${SOURCE}" expected REGEX "^// expect: ")
if(NOT expected)
  message(FATAL_ERROR "${SOURCE} has no line '// expect: ...'")
endif()
foreach(line IN LISTS expected)
  string(REPLACE "// expect: " "" text "${line}")
  string(FIND "${plain}" "${text}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "the output must contain \"${text}\":\n${output}")
  endif()
endforeach()
string(REGEX MATCHALL "error: " errors "${output}")
list(LENGTH errors count)
set(max_errors 2)
file(STRINGS "${SOURCE}" lines REGEX "^// errors: ")
if(lines MATCHES "^// errors: ([0-9]+)")
  set(max_errors "${CMAKE_MATCH_1}")
endif()
if(count GREATER max_errors)
  message(FATAL_ERROR
    "the output has ${count} errors, but must have at most ${max_errors}:\n${output}")
endif()
