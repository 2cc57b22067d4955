#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# CMake 4.4.4: the config file of a package calls find_dependency for `first` and `second`. The config
# file of `first` has policies of CMake 3.10, and also includes CMakeFindDependencyMacro. The user says
# with second_ROOT where `second` is.
#
# Guess:  find_dependency has the policies of the file that calls it, here those of CMake 3.25, in which
#         second_ROOT counts. The order of the two calls does not matter.
# Seen:   find_dependency is a macro, and has the policies of the file that included its module last. If
#         `first` comes first, its old policies are used for `second`: second_ROOT is ignored, and the
#         package is not found. In the other order it is found.
# So an old package breaks the search for another package, whose author and user do everything right.
. "$(dirname "$0")/lib.sh"
pip_install cmake==4.4.4
mkdir -p prefix/lib/cmake/outer prefix/lib/cmake/first elsewhere/lib/cmake/second
touch elsewhere/lib/cmake/second/second-config.cmake
cat > prefix/lib/cmake/first/first-config.cmake <<'CODE'
cmake_policy(VERSION 3.10)
include(CMakeFindDependencyMacro)
CODE
cat > prefix/lib/cmake/outer/outer-config.cmake <<'CODE'
cmake_minimum_required(VERSION 3.25)
include(CMakeFindDependencyMacro)
foreach(name IN LISTS order)
  find_dependency(${name} CONFIG)
endforeach()
CODE
cat > CMakeLists.txt <<'CODE'
cmake_minimum_required(VERSION 3.25)
project(check LANGUAGES NONE)
find_package(outer QUIET CONFIG)
file(WRITE "${CMAKE_BINARY_DIR}/seen" "${outer_FOUND}")
CODE
found() {
  rm -rf build
  venv/bin/cmake -S . -B build -D order="$1" -D CMAKE_PREFIX_PATH="$work/prefix" \
    -D second_ROOT="$work/elsewhere" > log 2>&1
  cat build/seen
}
expect "found, with first;second" "$(found "first;second")" 0
expect "found, with second;first" "$(found "second;first")" 1
