#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# toml11 3.7.1 (Debian 12): the program reads `toml::find_or(file, "timeout", 0.5)`, and the file says
# `timeout = 2`.
#
# Guess:  the result is 2.0, or an exception because the file has an integer, as from find<double>.
# Seen:   0.5. find_or returns the default also if the value is there and has another type. The same
#         happens to `timeout = "2"`.
# So the program ignores what the user has set, and tells nobody.
. "$(dirname "$0")/lib.sh"
unpack_debian libtoml11-dev=3.7.1-3
cat > check.cpp <<'CODE'
#include <iostream>
#include <sstream>
#include <toml.hpp>
int main() {
  for (const char* text : {"timeout = 2.0\n", "timeout = 2\n", "timeout = \"2\"\n"}) {
    std::istringstream stream(text);
    const toml::value file = toml::parse(stream);
    std::cout << toml::find_or(file, "timeout", 0.5);
    try {
      toml::find<double>(file, "timeout");
      std::cout << " found, ";
    } catch (const toml::type_error&) {
      std::cout << " thrown, ";
    }
  }
}
CODE
g++ -std=c++17 -O0 -Iroot/usr/include check.cpp -o check
expect "find_or, and find, of 2.0, 2 and \"2\"" "$(./check)" "2 found, 0.5 thrown, 0.5 thrown, "
