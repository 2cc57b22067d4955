# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Compares the committed answers of the CPU driver with the committed answers of a GPU. The
# differences must be exactly those that the file `DIFFERENCES` lists:
#
#   cmake -D GPU=… -D EXPECTED=… -D DIFFERENCES=… -D WORK=<folder> -P compare_with_gpu.cmake
#
# In that file, a line that begins with `<` is an answer of the GPU, and a line that begins with `>`
# is an answer of the CPU driver, as in the output of diff. All other lines are comments.
set(here "${CMAKE_CURRENT_LIST_DIR}")
set(shell [==[
set -eu
awk -f "$0/common.awk" "$1" "$1" >"$4/gpu.txt"
awk -f "$0/common.awk" "$1" "$2" >"$4/cpu.txt"
if [ "$(grep -c : "$4/gpu.txt")" -lt 500 ]; then echo "$1 is not a complete transcript"; exit 1; fi
{ diff "$4/gpu.txt" "$4/cpu.txt" || true; } | { grep '^[<>] ' || true; } >"$4/differences.txt"
{ grep '^[<>] ' "$3" || true; } >"$4/known.txt"
diff -u "$4/known.txt" "$4/differences.txt"
]==])
file(MAKE_DIRECTORY "${WORK}")
execute_process(
  COMMAND sh -c "${shell}" "${here}" "${GPU}" "${EXPECTED}" "${DIFFERENCES}" "${WORK}"
  RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${EXPECTED} and ${GPU} have other differences (+) than those in ${DIFFERENCES} (-)")
endif()
