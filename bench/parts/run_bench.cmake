# For scripts that run a bench briefly and check its output.
#
#   run_bench(<program> [argument…])    sets `said` (stdout), `complained` (stderr), and `report`
#                                       (the file ${OUT})
#
# With EXPECTED=refusal the program must refuse to run, and the calling script ends. `fail(<why>)`
# fails and shows the output.
cmake_minimum_required(VERSION 3.25)

function(fail why)
  message(FATAL_ERROR "${PROGRAM}: ${why}\nexit code ${exit_code}\n${said}\n${complained}")
endfunction()

macro(run_bench)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(EXPECTED STREQUAL "refusal")
    if(NOT exit_code EQUAL 2 OR NOT complained MATCHES "refuses to report" OR NOT said STREQUAL "")
      fail("a build that must not be measured must say so, report nothing, and exit with 2")
    endif()
    return()
  endif()
  if(NOT exit_code EQUAL 0)
    fail("it failed")
  endif()
  file(READ "${OUT}" report)
endmacro()
