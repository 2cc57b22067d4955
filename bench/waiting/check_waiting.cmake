# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Runs bench_waiting on a CPU device with the shortest possible measurements and checks the output.
#
#   FLOTILLA_DEVICES=cpu:1 cmake -D PROGRAM=<bench_waiting> -D EXPECTED=report|refusal
#                                -D OUT=<file> -P check_waiting.cmake
include("${CMAKE_CURRENT_LIST_DIR}/../parts/run_bench.cmake")

run_bench("${PROGRAM}" --quick --json "${OUT}")

# Each wait policy must have two rows: one for flotilla and one for the control.
string(JSON count LENGTH "${report}" rows)
if(NOT count EQUAL 8)
  fail("the report must have 8 rows, but has ${count}")
endif()
set(seen "")
foreach(i RANGE 7)
  foreach(key schedule who p50_us p99_us share_50us share_5ms share_idle)
    string(JSON ${key} ERROR_VARIABLE missing GET "${report}" rows ${i} ${key})
    if(missing)
      fail("row ${i} has no ${key}")
    endif()
  endforeach()
  list(APPEND seen "${schedule} ${who}")
  if(NOT said MATCHES "\n${schedule} +${who} ")
    fail("the table has no ${schedule}, ${who}")
  endif()
  if(NOT p50_us GREATER 0 OR p99_us LESS p50_us)
    fail("${schedule}, ${who}: p50 must be positive and at most p99, but p50 is ${p50_us} and p99 is ${p99_us}")
  endif()
  if(who STREQUAL "flotilla" AND share_idle GREATER 0.001)
    fail("an idle runtime with ${schedule} must use at most 0.001 of a processor, but uses ${share_idle}")
  endif()
endforeach()
foreach(schedule spin yield blocking automatic)
  foreach(who flotilla driver)
    if(NOT "${schedule} ${who}" IN_LIST seen)
      fail("the report has no row ${schedule}, ${who}")
    endif()
  endforeach()
endforeach()

# On CPU devices, the share of a busy process says nothing. The report must have a note about that,
# must not judge this target, and must judge the target of the idle process.
string(JSON note GET "${report}" context note)
string(JSON blocking TYPE "${report}" targets 0 met)
string(JSON idle TYPE "${report}" targets 1 met)
if(note STREQUAL "" OR NOT said MATCHES "\nnot comparable: CPU devices" OR NOT blocking STREQUAL "NULL"
   OR NOT idle STREQUAL "BOOLEAN")
  fail("on CPU devices only the idle target must be judged, but the note is '${note}', the JSON types are ${blocking}, ${idle}")
endif()

execute_process(COMMAND "${PROGRAM}" --quick --json /nowhere/at/all.json
  RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(exit_code EQUAL 0 OR NOT complained MATCHES "/nowhere/at/all.json" OR NOT said STREQUAL "")
  fail("a report file that cannot be written must be an error before anything is measured")
endif()
