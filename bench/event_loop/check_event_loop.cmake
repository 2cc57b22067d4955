# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Runs bench_event_loop on CPU devices with the shortest possible measurements and checks the output.
#
#   FLOTILLA_DEVICES=cpu:2 cmake -D PROGRAM=<bench_event_loop> -D EXPECTED=report|refusal
#                                -D OUT=<file> -P check_event_loop.cmake
include("${CMAKE_CURRENT_LIST_DIR}/../parts/run_bench.cmake")

run_bench("${PROGRAM}" --quick --json "${OUT}")

string(JSON count LENGTH "${report}" rows)
if(NOT count EQUAL 2)
  fail("the report must have 2 rows, but has ${count}")
endif()
set(seen "")
foreach(i RANGE 1)
  foreach(key who answered p50_us p99_us share_busy share_idle)
    string(JSON ${key} ERROR_VARIABLE missing GET "${report}" rows ${i} ${key})
    if(missing)
      fail("row ${i} has no ${key}")
    endif()
  endforeach()
  list(APPEND seen "${who}")
  if(NOT answered GREATER 0 OR NOT p50_us GREATER 0 OR p99_us LESS p50_us)
    fail("${who}: ${answered} requests answered, p50 ${p50_us}, p99 ${p99_us}")
  endif()
  if(share_idle GREATER 0.01)
    fail("${who}: an idle loop must use at most 0.01 of a processor, but uses ${share_idle}")
  endif()
endforeach()
if(NOT "event_fd" IN_LIST seen OR NOT "by_hand" IN_LIST seen)
  fail("the report must have the rows event_fd and by_hand, but has ${seen}")
endif()

execute_process(COMMAND "${PROGRAM}" --quick --json /nowhere/at/all.json
  RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(exit_code EQUAL 0 OR NOT complained MATCHES "/nowhere/at/all.json" OR NOT said STREQUAL "")
  fail("a report file that cannot be written must be an error before anything is measured")
endif()
