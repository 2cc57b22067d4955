# Runs bench_dispatch as briefly as it can, with FLOTILLA_DEVICES=cpu:2, and looks at what it says.
#
#   cmake -D PROGRAM=<bench_dispatch> -D EXPECTED=report|refusal -D BUILD_TYPE=<config> -D OUT=<file>
#         -P check_program.cmake
include("${CMAKE_CURRENT_LIST_DIR}/../parts/run_bench.cmake")

# Every kind of row, with few and with several producers; some need more devices than there are.
run_bench("${PROGRAM}" "--benchmark_filter=-producers:(2|8|16)/" --benchmark_min_time=0.001 --benchmark_repetitions=1
          "--benchmark_out=${OUT}" --benchmark_out_format=json)

function(context_of key result)
  string(JSON value ERROR_VARIABLE missing GET "${report}" context ${key})
  if(missing)
    fail("the report's context has no ${key}")
  endif()
  set(${result} "${value}" PARENT_SCOPE)
endfunction()
foreach(key flotilla_version flotilla_driver flotilla_devices flotilla_workers flotilla_cpus)
  context_of(${key} ignored)
endforeach()
context_of(flotilla_build_type build_type)
if(NOT build_type STREQUAL BUILD_TYPE)
  fail("the report says build type '${build_type}', not '${BUILD_TYPE}'")
endif()

# Every row has a figure, but those that need devices which are not there; and these say so.
string(JSON count LENGTH "${report}" benchmarks)
math(EXPR last "${count} - 1")
set(seen "")
set(refused 0)
foreach(i RANGE ${last})
  string(JSON name GET "${report}" benchmarks ${i} name)
  string(JSON why ERROR_VARIABLE measured GET "${report}" benchmarks ${i} error_message)
  string(REGEX MATCH "^BM_[A-Za-z]+" row "${name}")
  list(APPEND seen ${row})
  if(name MATCHES "/devices:4")
    if(measured OR NOT why STREQUAL "needs 4 devices, there are 2: see FLOTILLA_DEVICES")
      fail("${name} on two devices: '${why}'")
    endif()
    math(EXPR refused "${refused} + 1")
  elseif(NOT measured)
    fail("${name}: ${why}")
  endif()
endforeach()
list(REMOVE_DUPLICATES seen)
list(LENGTH seen rows_seen)
message(STATUS "${count} rows of ${rows_seen} kinds, ${refused} of them without devices enough")
if(refused EQUAL 0)
  fail("no row asked for more devices than there are")
endif()
foreach(row BM_Submit BM_SubmitPlain BM_SubmitTbbGroup BM_SubmitTbbEnqueue
            BM_Flood BM_FloodPlain BM_FloodTbbGroup BM_FloodTbbEnqueue
            BM_LoneTask BM_LonePlain BM_LoneTbbGroup BM_LoneTbbEnqueue
            BM_Callables BM_CallablesPlain BM_SingleThread BM_Pump BM_PumpPlain)
  if(NOT row IN_LIST seen)
    fail("no row ${row} was run")
  endif()
endforeach()
