# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Checks that the README shows this sample's sources, without the lines of the license, and its output.
#
#   cmake -D README=file -D PROGRAM=hello -P check_readme.cmake
cmake_minimum_required(VERSION 3.25)

file(READ "${README}" readme)
foreach(shown main.cpp saxpy.cu)
  file(READ "${CMAKE_CURRENT_LIST_DIR}/${shown}" text)
  string(REGEX REPLACE "^(// SPDX-[^\n]*\n)+\n?" "" text "${text}")
  string(FIND "${readme}" "\n${text}```\n" at)
  if(at EQUAL -1)
    message(SEND_ERROR "${README} does not show samples/hello/${shown} unchanged")
  endif()
endforeach()

# The README shows the output for two CPU devices, which is the same on every machine.
set(ENV{FLOTILLA_DEVICES} cpu:2)
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE output RESULT_VARIABLE status)
string(FIND "${readme}" "hello\n${output}```\n" at)
if(NOT status EQUAL 0 OR at EQUAL -1)
  message(SEND_ERROR "${README} does not show the output of ${PROGRAM} (status ${status}):\n${output}")
endif()
