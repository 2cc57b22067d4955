# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Runs the suite `patterns` on CPU devices with the smallest graphs and checks the output.
#
#   FLOTILLA_DEVICES=cpu:2 cmake -D PROGRAM=<flotilla;bench> -D EXPECTED=report|refusal
#                                -D OUT=<file> -P check_patterns.cmake
include("${CMAKE_CURRENT_LIST_DIR}/../parts/run_bench.cmake")

run_bench(${PROGRAM} --suite patterns --quick --irregular --metg --json "${OUT}")
if(NOT said MATCHES "^--quick: checks that the rows work, and measures nothing\n")
  fail("the output must begin with what --quick does")
endif()
foreach(key flotilla devices driver cpu flags command quick repetitions seed not_measured)
  string(JSON ignored ERROR_VARIABLE missing GET "${report}" context ${key})
  if(missing)
    fail("the report's context has no ${key}")
  endif()
endforeach()

set(all_variants flotilla recording streams graph relaunch)
set(seen "")
set(seen_rows "")
string(JSON count LENGTH "${report}" rows)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  foreach(key pattern width steps tasks edges irregular kernel_us critical_path_us ratio)
    string(JSON ${key} ERROR_VARIABLE missing GET "${report}" rows ${i} ${key})
    if(missing)
      fail("row ${i} has no ${key}")
    endif()
  endforeach()
  # A graph that only one row needs is measured with fewer variants.
  string(JSON row ERROR_VARIABLE missing GET "${report}" rows ${i} row)
  if(missing)
    fail("row ${i} has no row")
  endif()
  if(row STREQUAL "")
    set(variants ${all_variants})
    set(name ${pattern})
  else()
    set(variants flotilla streams)
    set(name ${row})
    list(APPEND seen_rows ${row})
  endif()
  list(LENGTH variants count_of_variants)
  math(EXPR last_variant "${count_of_variants} - 1")
  list(APPEND seen "${pattern} ${width} ${irregular}")
  if(NOT ratio STREQUAL "")
    fail("--quick must report no ratio, but ${pattern} has ratio '${ratio}'")
  endif()
  # The CPU driver has everything that the variants need, so each of them must have a time.
  foreach(k RANGE ${last_variant})
    string(JSON variant GET "${report}" rows ${i} variants ${k} variant)
    list(GET variants ${k} wanted)
    string(JSON time ERROR_VARIABLE missing GET "${report}" rows ${i} variants ${k} us_per_step)
    if(NOT variant STREQUAL wanted OR missing OR NOT time GREATER 0)
      fail("${pattern} of width ${width} must have a positive time of ${wanted}")
    endif()
    if(NOT said MATCHES "\n${name} ${width} [^\n]* ${variant}: works\n")
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
if(NOT seen_rows STREQUAL "stencil_64;tree_64;random_64;irregular")
  fail("the report must have the graphs of four rows, but has ${seen_rows}")
endif()
string(JSON verdicts LENGTH "${report}" verdicts)
if(NOT verdicts EQUAL 0)
  fail("--quick must report no verdict, but there are ${verdicts}")
endif()
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

# Each row must be measured alone, and have a verdict.
foreach(row by_hand metg stencil_64 tree_64 random_64 irregular fan_in fan_out)
  execute_process(COMMAND ${PROGRAM} --suite patterns --only ${row} --quick
    RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(NOT exit_code EQUAL 0 OR NOT said MATCHES "works")
    fail("--only ${row} must measure the row")
  endif()
endforeach()
set(small --variants flotilla,streams --repetitions 1 --json "${OUT}")
foreach(arguments "by_hand;--only;by_hand;--patterns;fft;--widths;4;--kernels;0;--steps;3"
                  "patterns_2gpu;--devices;2;--patterns;fft,all_to_all;--widths;12;--kernels;0;--steps;3"
                  "fan_in;--only;fan_in;--fans;12" "tree_64;--only;tree_64")
  list(POP_FRONT arguments row)
  run_bench(${PROGRAM} --suite patterns ${small} ${arguments})
  foreach(key row value streams target met missed worst)
    string(JSON ${key} ERROR_VARIABLE missing GET "${report}" verdicts 0 ${key})
    if(missing)
      fail("the verdict on ${arguments} has no ${key}")
    endif()
  endforeach()
  string(JSON others LENGTH "${report}" verdicts)
  if(NOT others EQUAL 1 OR NOT value GREATER 0 OR NOT met STREQUAL "" OR NOT said MATCHES "\n${row} ")
    fail("there must be one verdict, on ${row}, without a judgement because these are CPU devices")
  endif()
endforeach()
# With two devices, all variants must compute the right values.
execute_process(COMMAND ${PROGRAM} --suite patterns --quick --devices 2
  RESULT_VARIABLE exit_code OUTPUT_VARIABLE said ERROR_VARIABLE complained)
if(NOT exit_code EQUAL 0 OR said MATCHES "not available")
  fail("--devices 2 must measure all variants")
endif()

# Wrong arguments must be errors that name them, before anything is measured.
foreach(wrong "--only;abacus" "--patterns;abacus" "--variants;abacus" "--json;/abacus/at/all.json")
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
