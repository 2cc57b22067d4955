# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Runs the conformance program and compares its output line by line with the expected transcript:
#
#   cmake -D PROGRAM=… -D IMAGE=… -D LIBRARIES=<folder of libcuda.so.1> -D EXPECTED=… -D OUTPUT=…
#         -P compare.cmake
#
# The program always has two devices of 16 GiB, because the answers depend on these numbers.
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env --unset=FLOTILLA_CPU_INJECT
          "LD_LIBRARY_PATH=${LIBRARIES}:$ENV{LD_LIBRARY_PATH}"
          FLOTILLA_DEVICES=cpu:2 FLOTILLA_CPU_MEMORY=16GiB
          "${PROGRAM}" "${IMAGE}"
  OUTPUT_FILE "${OUTPUT}" RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}; its output is in ${OUTPUT}")
endif()
execute_process(COMMAND diff -u "${EXPECTED}" "${OUTPUT}" RESULT_VARIABLE differs)
if(NOT differs EQUAL 0)
  message(FATAL_ERROR "the answers (+) differ from ${EXPECTED} (-)")
endif()
