# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Helpers for scripts that run a benchmark program briefly and check its output.
#
#   run_bench(<program> [argument…])    sets `said` (stdout), `complained` (stderr), and `report`
#                                       (the contents of the file ${OUT})
#   fail(<why>)                         ends the script with an error that shows the output
#
# If EXPECTED is `refusal`, run_bench() checks that the program refuses to run. The calling script
# then ends.
cmake_minimum_required(VERSION 3.25)

function(fail why)
  message(FATAL_ERROR "${PROGRAM}: ${why}\nexit code ${exit_code}\n${said}\n${complained}")
endfunction()

macro(run_bench)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(EXPECTED STREQUAL "refusal")
    if(NOT exit_code EQUAL 2 OR NOT complained MATCHES "refuses to report" OR NOT said STREQUAL "")
      fail("in this build the program must refuse to measure, print no report and exit with code 2")
    endif()
    return()
  endif()
  if(NOT exit_code EQUAL 0)
    fail("the exit code must be 0")
  endif()
  file(READ "${OUT}" report)
endmacro()
