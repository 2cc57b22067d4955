#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# toml11 3.7.1 (Debian 12): a configuration has an integer that does not fit the type which the program asks
# for, as in `toml::find<std::uint16_t>(file, "port")` of `port = 70000`.
#
# Guess:  toml11 throws, as it does for a value of another TOML type. toml++ returns no value here.
# Seen:   the integer is cut to the type: the port is 4464, and -1 read as unsigned is 4294967295.
# So a wrong number in a file becomes another number that looks right. Read std::int64_t, and check.
. "$(dirname "$0")/lib.sh"
unpack_debian libtoml11-dev=3.7.1-3
cat > check.cpp <<'CODE'
#include <cstdint>
#include <iostream>
#include <sstream>
#include <toml.hpp>
template <class T>
void print(const char* text) {
  std::istringstream stream(text);
  std::cout << toml::find<T>(toml::parse(stream), "x") << ' ';
}
int main() {
  print<std::uint16_t>("x = 70000\n");
  print<std::uint32_t>("x = -1\n");
}
CODE
g++ -std=c++17 -O0 -Iroot/usr/include check.cpp -o check
expect "70000 as std::uint16_t, -1 as std::uint32_t" "$(./check)" "4464 4294967295 "
