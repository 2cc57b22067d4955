#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Boost.Program_options 1.74 (Debian 12): an option has the type unsigned, and the user writes --threads=-1.
#
# Guess:  invalid_option_value, as for --threads=x or --threads=4294967296.
# Seen:   the number is 4294967295, and no error. boost::lexical_cast, which reads the options, accepts a
#         minus sign for unsigned types. For std::uint16_t it is 65535.
# So a program that takes -1 for "all", as many do, asks for four billion threads here.
. "$(dirname "$0")/lib.sh"
unpack_debian libboost1.74-dev=1.74.0+ds1-21 libboost-program-options1.74-dev=1.74.0+ds1-21
cat > check.cpp <<'CODE'
#include <boost/program_options.hpp>
#include <cstdint>
#include <iostream>
namespace options = boost::program_options;
template <class T>
void print(const char* argument) {
  options::options_description known;
  known.add_options()("threads", options::value<T>());
  options::variables_map found;
  const char* arguments[] = {"check", argument};
  try {
    store(options::parse_command_line(2, arguments, known), found);
    std::cout << found["threads"].template as<T>() << ' ';
  } catch (const options::invalid_option_value&) {
    std::cout << "refused ";
  }
}
int main() {
  print<unsigned>("--threads=-1");
  print<std::uint16_t>("--threads=-1");
  print<unsigned>("--threads=4294967296");
  print<unsigned>("--threads=x");
}
CODE
libraries="root/usr/lib/$(gcc -print-multiarch)"
g++ -std=c++17 -O0 -Iroot/usr/include check.cpp "$libraries/libboost_program_options.a" -o check
expect "-1 as unsigned, as std::uint16_t; 4294967296; x" "$(./check)" "4294967295 65535 refused refused "
