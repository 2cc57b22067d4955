#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# nanobind 3.1.0 with NumPy 2.3.5: a function has an overload for double, and then one for std::int64_t. It
# is called with 2^53 + 1, as int of Python and as numpy.int64.
#
# Guess:  both calls reach the overload for std::int64_t.
# Seen:   numpy.int64 reaches the one for double, and the number becomes 2^53. Neither overload takes it
#         without a conversion, so the first overload that can convert it wins.
# So an index from an array loses its last bits, and one that is typed in a test does not.
. "$(dirname "$0")/lib.sh"
pip_install numpy==2.3.5 nanobind==3.1.0
cat > n.cpp <<'CODE'
#include <nanobind/nanobind.h>
#include <cstdint>
NB_MODULE(overloads, m) {
  m.def("kept", [](double value) { return static_cast<std::int64_t>(value); });
  m.def("kept", [](std::int64_t value) { return value; });
}
CODE
python=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_path('include'))")
suffix=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")
nanobind=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/nanobind
g++ -std=c++20 -O0 -shared -fPIC -fvisibility=hidden -I"$python" -I"$nanobind/include" \
  -I"$nanobind/ext/robin_map/include" n.cpp "$nanobind/src/nb_combined.cpp" -o "overloads$suffix"
cat > check.py <<'CODE'
import numpy
import overloads
value = 2**53 + 1
print(overloads.kept(value) - 2**53, overloads.kept(numpy.int64(value)) - 2**53)
CODE
expect "2^53 + 1 as int, as numpy.int64, minus 2^53" "$(venv/bin/python check.py)" "1 0"
