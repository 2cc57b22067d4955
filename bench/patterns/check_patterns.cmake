# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Runs the suite `patterns` on a CPU device with the smallest graphs and checks the output.
#
#   FLOTILLA_DEVICES=cpu:1 cmake -D PROGRAM=<flotilla;bench> -D EXPECTED=report|refusal
#                                -D OUT=<file> -P check_patterns.cmake
include("${CMAKE_CURRENT_LIST_DIR}/../parts/run_bench.cmake")

run_bench(${PROGRAM} --suite patterns --quick --irregular --metg --json "${OUT}")
foreach(key flotilla devices driver cpu flags command quick repetitions seed not_measured)
  string(JSON ignored ERROR_VARIABLE missing GET "${report}" context ${key})
  if(missing)
    fail("the report's context has no ${key}")
  endif()
endforeach()

set(variants flotilla recording streams graph relaunch)
set(seen "")
string(JSON count LENGTH "${report}" rows)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  foreach(key pattern width steps tasks edges irregular kernel_us critical_path_us ratio)
    string(JSON ${key} ERROR_VARIABLE missing GET "${report}" rows ${i} ${key})
    if(missing)
      fail("row ${i} has no ${key}")
    endif()
  endforeach()
  list(APPEND seen "${pattern} ${width} ${irregular}")
  if(NOT ratio STREQUAL "")
    fail("--quick must report no ratio, but ${pattern} has ratio '${ratio}'")
  endif()
  # The CPU driver has everything that the variants need, so each of them must have a time.
  foreach(k RANGE 4)
    string(JSON variant GET "${report}" rows ${i} variants ${k} variant)
    list(GET variants ${k} wanted)
    string(JSON time ERROR_VARIABLE missing GET "${report}" rows ${i} variants ${k} us_per_step)
    if(NOT variant STREQUAL wanted OR missing OR NOT time GREATER 0)
      fail("${pattern} of width ${width} must have a positive time of ${wanted}")
    endif()
    if(NOT said MATCHES "\n${pattern} ${width} [^\n]* ${variant}: works\n")
      fail("the output must say that ${pattern} works with ${variant}")
    endif()
  endforeach()
endforeach()
foreach(pattern trivial no_comm stencil_1d fft tree nearest spread all_to_all random)
  foreach(row "1 OFF" "12 OFF" "1 ON" "12 ON")
    if(NOT "${pattern} ${row}" IN_LIST seen)
      fail("the report has no row ${pattern} ${row}")
    endif()
  endforeach()
endforeach()
foreach(row "fan_in 12 OFF" "fan_out 12 OFF")
  if(NOT row IN_LIST seen)
    fail("the report has no row ${row}")
  endif()
endforeach()
string(JSON searches LENGTH "${report}" metg)
if(NOT searches EQUAL 36)  # 9 patterns, 2 widths, flotilla and the control
  fail("the report must have 36 results of --metg, but has ${searches}")
endif()

# The filters must leave out everything else.
execute_process(COMMAND ${PROGRAM} --suite patterns --patterns fft --variants streams --widths 4
                        --kernels 0 --steps 3 --repetitions 1
  RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT exit_code EQUAL 0 OR NOT said MATCHES "\nfft: " OR NOT said MATCHES "\n +4 +3 +0 \\|"
   OR said MATCHES "(tree|fan_in): " OR said MATCHES "relaunch")
  fail("only the pattern fft and the variant streams must be measured")
endif()

# Wrong arguments must be errors that name them, before anything is measured.
foreach(wrong "--patterns;abacus" "--variants;abacus" "--json;/abacus/at/all.json")
  execute_process(COMMAND ${PROGRAM} --suite patterns --quick ${wrong}
    RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(exit_code EQUAL 0 OR NOT complained MATCHES "abacus" OR NOT said STREQUAL "")
    fail("${wrong} must be an error before anything is measured")
  endif()
endforeach()
execute_process(COMMAND ${PROGRAM} --suite abacus
  RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(exit_code EQUAL 0 OR NOT complained MATCHES "abacus" OR NOT said STREQUAL "")
  fail("the unknown suite 'abacus' must be an error before anything is measured")
endif()
