#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# CTest 4.4.4: a test has the property RESOURCE_GROUPS "9,gpus:1", so it needs 9 GPUs. `ctest` runs
# without a description of the machine.
#
# Guess:  CTest refuses the test, or skips it, because it knows of no GPU.
# Seen:   the test runs, without the variable CTEST_RESOURCE_GROUP_COUNT. Only with --resource-spec-file
#         CTest refuses it if there are too few GPUs.
# So if a CI job forgets this option, the property does not keep tests apart that use the same GPU.
. "$(dirname "$0")/lib.sh"
pip_install cmake==4.4.4
cat > CMakeLists.txt <<'CODE'
cmake_minimum_required(VERSION 3.25)
project(check LANGUAGES NONE)
enable_testing()
add_test(NAME gpus COMMAND sh -c "echo \${CTEST_RESOURCE_GROUP_COUNT:-no} groups > ran")
set_tests_properties(gpus PROPERTIES RESOURCE_GROUPS "9,gpus:1")
CODE
echo '{"version": {"major": 1, "minor": 0}, "local": [{"gpus": [{"id": "0", "slots": 8}]}]}' > 8.json
echo '{"version": {"major": 1, "minor": 0}, "local": [{"gpus": [{"id": "0", "slots": 9}]}]}' > 9.json
ran() {
  rm -f build/ran
  venv/bin/ctest --test-dir build "$@" > log 2>&1 || true
  if [ -e build/ran ]; then cat build/ran; else grep -o 'Insufficient resources' log; fi
}
venv/bin/cmake -S . -B build > log
expect "without a description" "$(ran)" "no groups"
expect "with 9" "$(ran --resource-spec-file "$work/9.json")" "9 groups"
expect "with 8" "$(ran --resource-spec-file "$work/8.json")" "Insufficient resources"
