#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# CMake 4.2.0 and 4.4.4 (PyPI): a folder has `greet-config.cmake` and, beside it in `cps`, a description
# in the Common Package Specification, `greet.cps`. A project calls find_package(greet CONFIG).
#
# Guess:  the project's file wins in both, because a project with policies of CMake 3.25 behaves as
#         before until it asks for new behaviour.
# Seen:   CMake 4.2 takes greet-config.cmake. CMake 4.4 takes greet.cps, also if the project asks for
#         policies of 3.25. So a package that adds a .cps file changes what old projects get: the
#         functions and variables that only the file in CMake's language defines are gone.
. "$(dirname "$0")/lib.sh"
mkdir -p prefix/lib/cmake/greet prefix/cps prefix/include
echo 'add_library(greet INTERFACE IMPORTED)
set(greet_from "the config file")' > prefix/lib/cmake/greet/greet-config.cmake
cat > prefix/cps/greet.cps <<'CODE'
{
  "cps_version": "0.13",
  "name": "greet",
  "cps_path": "@prefix@/cps",
  "components": {"greet": {"type": "interface", "includes": ["@prefix@/include"]}}
}
CODE
cat > CMakeLists.txt <<'CODE'
cmake_minimum_required(VERSION 3.25)
project(check LANGUAGES NONE)
set(greet_from "the .cps file")
find_package(greet REQUIRED CONFIG PATHS "${CMAKE_SOURCE_DIR}/prefix" NO_DEFAULT_PATH)
file(WRITE "${CMAKE_BINARY_DIR}/seen" "${greet_from}")
CODE
for version in 4.2.0 4.4.4; do
  pip_install cmake==$version
  venv/bin/cmake -S . -B build-$version > log
done
expect "4.2.0" "$(cat build-4.2.0/seen)" "the config file"
expect "4.4.4" "$(cat build-4.4.4/seen)" "the .cps file"
