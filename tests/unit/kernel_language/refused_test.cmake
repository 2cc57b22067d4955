# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Checks that a source does not compile for CPU devices, and that the error names the reason. The
# first line of the source, after the license, is:
#
#   // expect: <regular expression for the compiler's output>
#
#   cmake -D SOURCE=<file.cu> -D PROJECT=<folder of a CMakeLists.txt> -D WORK=<folder>
#         -D COMPILER=<C++ compiler>
#         -D GENERATOR=<generator> -D ADD_KERNELS=<flotilla_add_kernels.cmake> -P refused_test.cmake
file(STRINGS "${SOURCE}" first REGEX "^// expect: " LIMIT_COUNT 1)
if(NOT first MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${SOURCE} has no line '// expect: ...'")
endif()
set(expected "${CMAKE_MATCH_1}")

file(REMOVE_RECURSE "${WORK}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${PROJECT}" -B "${WORK}" -G "${GENERATOR}"
          -D "CMAKE_CXX_COMPILER=${COMPILER}" -D "SOURCE=${SOURCE}" -D "ADD_KERNELS=${ADD_KERNELS}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the project does not configure:\n${output}")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}"
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must not compile, but does")
endif()
if(NOT output MATCHES "${expected}")
  message(FATAL_ERROR "${SOURCE} does not compile, but the output does not match \"${expected}\":\n${output}")
endif()
