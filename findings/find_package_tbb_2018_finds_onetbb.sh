#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# oneTBB 2021.8 (Debian 12) with CMake 4.4.4: a project needs classic TBB 2018 or 2020, whose
# tbb::task and tbb::task_scheduler_init do not exist any more in oneTBB.
#
# Guess:  find_package(TBB 2020) refuses 2021.8, because the interface is another one.
# Seen:   both requests are satisfied by 2021.8: every older version is accepted. The project then
#         fails later, at its first #include <tbb/task_scheduler_init.h>. Only a range helps, such as
#         find_package(TBB 2018...<2021).
. "$(dirname "$0")/lib.sh"
pip_install cmake==4.4.4
version=2021.8.0-2+deb12u1
unpack_debian libtbb-dev=$version libtbb12=$version libtbbmalloc2=$version libtbbbind-2-5=$version
cat > CMakeLists.txt <<'CODE'
cmake_minimum_required(VERSION 3.25)
project(check LANGUAGES CXX)
foreach(wanted 2018 2020.3 2018...<2021 2021.9)
  unset(TBB_DIR CACHE)
  find_package(TBB ${wanted} QUIET CONFIG PATHS "${ROOT}/usr" NO_DEFAULT_PATH)
  string(APPEND seen " ${TBB_FOUND}")
endforeach()
file(WRITE "${CMAKE_BINARY_DIR}/seen" "${seen}")
CODE
venv/bin/cmake -S . -B build -D ROOT="$work/root" > log
old=$(find root -name 'task_scheduler_init.h' | wc -l)
expect "found for 2018, 2020.3, 2018...<2021, 2021.9" "$(cat build/seen)" " 1 1 0 0"
expect "headers task_scheduler_init.h" "$old" 0
