# For the scripts that run a program of measurements briefly, and look at what it says.
#
#   run_bench(<program> [argument…])    sets `said`, `complained`, and `report`, what it wrote to ${OUT}
#
# With EXPECTED=refusal the program must refuse, and the script that called this ends. `fail(<why>)` shows all of it.
cmake_minimum_required(VERSION 3.25)

function(fail why)
  message(FATAL_ERROR "${PROGRAM}: ${why}\nexit code ${exit_code}\n${said}\n${complained}")
endfunction()

macro(run_bench)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(EXPECTED STREQUAL "refusal")
    if(NOT exit_code EQUAL 2 OR NOT complained MATCHES "refuses to report" OR NOT said STREQUAL "")
      fail("a build that is not to be measured must say so, report nothing, and exit with 2")
    endif()
    return()
  endif()
  if(NOT exit_code EQUAL 0)
    fail("it failed")
  endif()
  file(READ "${OUT}" report)
endmacro()
