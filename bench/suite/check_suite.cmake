# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Runs the suite on CPU devices with the shortest possible measurements and checks the output.
#
#   FLOTILLA_DEVICES=cpu:2 cmake -D PROGRAM=<flotilla;bench> -D EXPECTED=report|refusal
#                                -D OUT=<file> -P check_suite.cmake
include("${CMAKE_CURRENT_LIST_DIR}/../parts/run_bench.cmake")

run_bench(${PROGRAM} --quick --json "${OUT}")
if(NOT said MATCHES "^--quick: checks that the rows work, and measures nothing\n")
  fail("the output must begin with what --quick does")
endif()
foreach(key flotilla devices driver cpu flags command quick)
  string(JSON ignored ERROR_VARIABLE missing GET "${report}" context ${key})
  if(missing)
    fail("the report's context has no ${key}")
  endif()
endforeach()

# The figures of --quick are meaningless. So the output must only say whether each row works. In the
# report, every row must have a cost and a control, but neither a ratio nor a verdict. Rows for four
# devices must have a note instead of a cost.
set(seen "")
string(JSON count LENGTH "${report}" rows)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  foreach(key id ns control control_ns ratio target met note)
    string(JSON ${key} ERROR_VARIABLE missing GET "${report}" rows ${i} ${key})
    if(missing)
      fail("row ${i} has no ${key}")
    endif()
  endforeach()
  list(APPEND seen ${id})
  if(NOT said MATCHES "\n${id} +(works|not here: [^\n]*)\n")
    fail("the output must have the row ${id} without figures")
  endif()
  if(NOT ratio STREQUAL "" OR NOT met STREQUAL "")
    fail("--quick must report no ratio and no verdict, but ${id} has ratio '${ratio}', met '${met}'")
  elseif(id MATCHES "_4gpu$")
    if(NOT ns STREQUAL "" OR NOT note MATCHES "^not here: needs 4 devices, there are 2$")
      fail("${id} needs four devices, but the report has ns '${ns}', note '${note}'")
    endif()
  elseif(id STREQUAL "allocations")
    string(JSON per_task ERROR_VARIABLE missing GET "${report}" rows ${i} allocations)
    if(missing)
      fail("row allocations has no count")
    endif()
  elseif(NOT ns GREATER 0 OR NOT control_ns GREATER 0)
    fail("${id} must have positive figures, but ns is '${ns}', control_ns '${control_ns}': ${note}")
  endif()
endforeach()
foreach(id empty_1p empty_2p empty_4p empty_8p empty_16p empty_4gpu pump_4gpu submit lone_spin eight
           length_1us length_2us length_5us length_20us length_100us full_1ms chain replay pingpong migrate
           lateness allocations balance copy_beside cpu_empty_1p
           named_1p named_2p named_4p named_8p named_16p named_1p_2gpu named_2p_2gpu
           named_1p_4gpu named_4p_4gpu named_16p_4gpu empty_1p_2gpu empty_1p_4gpu empty_16p_4gpu
           empty_tbb_1p empty_tbb_2p empty_tbb_4p empty_tbb_8p empty_tbb_16p
           pump_1gpu pump_2gpu idle_pump_1gpu idle_pump_2gpu idle_pump_4gpu
           bulk bulk_submit submit_2p submit_4p submit_8p submit_16p submit_tbb_1p submit_tbb_4p
           submit_any_1p submit_any_2p submit_any_4p submit_any_8p submit_any_16p
           lone_spin_0w lone_yield lone_yield_0w lone_blocking lone_blocking_0w lone_tbb
           call_1p call_4p call_1p_4gpu call_4p_4gpu copy_peer_4k copy_peer_64m halo
           flood_1p flood_4p flood_16p flood_2gpu submit_one submit_many wide_20us wide_100us
           replay_fused replay_made cpu_flood mixed copies_4k copies_64k pipeline_64k pageable slowdown
           flow_3 flow_3_2gpu flow_repeat flow_submit submit_c)
  if(NOT id IN_LIST seen)
    fail("the report has no row ${id}")
  endif()
endforeach()

# If a row is unknown, the program must print an error that names it and must measure nothing.
execute_process(COMMAND ${PROGRAM} --quick --only abacus
  RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(exit_code EQUAL 0 OR NOT complained MATCHES "abacus" OR NOT said STREQUAL "")
  fail("the unknown row 'abacus' in --only must be an error before anything is measured")
endif()
# If the report file cannot be written, the program must print an error and measure nothing.
execute_process(COMMAND ${PROGRAM} --quick --only submit --json /nowhere/at/all.json
  RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(exit_code EQUAL 0 OR NOT complained MATCHES "/nowhere/at/all.json" OR NOT said STREQUAL "")
  fail("a report file that cannot be written must be an error before anything is measured")
endif()
