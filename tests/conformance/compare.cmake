# Runs a transcript program and compares what it says, line for line:
#
#   cmake -D PROGRAM=… -D IMAGE=… -D LIBRARIES=<folder of libcuda.so.1> -D EXPECTED=… -D OUTPUT=…
#         -P compare.cmake
#
# Two devices, of which each has 16 GiB, whatever the environment says: answers depend on it.
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env --unset=FLOTILLA_CPU_INJECT
          "LD_LIBRARY_PATH=${LIBRARIES}:$ENV{LD_LIBRARY_PATH}"
          FLOTILLA_DEVICES=cpu:2 FLOTILLA_CPU_MEMORY=16GiB
          "${PROGRAM}" "${IMAGE}"
  OUTPUT_FILE "${OUTPUT}" RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}; what it said is in ${OUTPUT}")
endif()
execute_process(COMMAND diff -u "${EXPECTED}" "${OUTPUT}" RESULT_VARIABLE differs)
if(NOT differs EQUAL 0)
  message(FATAL_ERROR "not the answers of ${EXPECTED} (-) but others (+)")
endif()
