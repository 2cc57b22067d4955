#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# CMake 4.4.4: string(JSON) reads numbers, and sets a member of an object that has other members.
#
# Guess:  GET returns a number as it is written, and SET leaves other members as they are.
# Seen:   GET of 0.1 is 0.10000000000000001, and GET of 1e3 is 1000.0. SET of one member rewrites the
#         numbers of all others in the same way. So a text comparison with a value from JSON fails, and
#         files that CMake edits change in places that nobody touched.
. "$(dirname "$0")/lib.sh"
pip_install cmake==4.4.4
cat > check.cmake <<'CODE'
set(text [[{"a": 0.1, "b": 1e3, "c": 12345678901234567890}]])
foreach(name a b c)
  string(JSON value GET "${text}" ${name})
  list(APPEND seen ${value})
endforeach()
string(JSON changed SET [[{"a": 0.1}]] z 1)
string(REGEX REPLACE "[ \n]" "" changed "${changed}")
message("${seen} ${changed}")
CODE
expect "GET of three numbers; SET of another member" "$(venv/bin/cmake -P check.cmake 2>&1)" \
  '0.10000000000000001;1000.0;12345678901234567890 {"a":0.10000000000000001,"z":1}'
