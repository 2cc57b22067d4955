#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Boost 1.74 (Debian 12): boost::numeric_cast converts a double into an int, and throws if the value is not
# in the range of int.
#
# Guess:  it throws for a NaN too, because no int has this value.
# Seen:   it throws for 1e10 and for infinity, but not for a NaN, whose conversion the language does not
#         define. Both comparisons with the limits are false.
# So a number of elements from a failed computation passes the check that was written to stop it.
. "$(dirname "$0")/lib.sh"
unpack_debian libboost1.74-dev=1.74.0+ds1-21
cat > check.cpp <<'CODE'
#include <boost/numeric/conversion/cast.hpp>
#include <cmath>
#include <cstdio>
#include <initializer_list>
int main() {
  for (double value : {1e10, double(INFINITY), double(NAN)}) {
    try {
      boost::numeric_cast<int>(value);
      std::printf("%g passes, ", value);
    } catch (const boost::numeric::bad_numeric_cast&) {
      std::printf("%g throws, ", value);
    }
  }
}
CODE
g++ -O0 -Iroot/usr/include check.cpp -o check
expect "numeric_cast<int>" "$(./check)" "1e+10 throws, inf throws, nan passes, "
