#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# nanobind 3.1.0 with NumPy 2.3.5: a function fills its argument, a contiguous `nb::ndarray<float>`
# without const, and gets arrays that are not like that.
#
# Guess:  an array that would need a conversion is refused, because the function may write to it.
# Seen:   a read-only array is refused. An array of double, or with gaps, is converted into a temporary
#         array; the function fills that one, and the array of the caller keeps its zeros. Nothing is
#         raised. `nb::arg().noconvert()` is what refuses them.
. "$(dirname "$0")/lib.sh"
pip_install numpy==2.3.5 nanobind==3.1.0
cat > n.cpp <<'CODE'
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
namespace nb = nanobind;
using row = nb::ndarray<float, nb::ndim<1>, nb::c_contig>;
static void fill(row a) {
  for (size_t i = 0; i < a.shape(0); ++i) { a.data()[i] = 7; }
}
NB_MODULE(filling, m) {
  m.def("fill", &fill);
  m.def("fill_strictly", &fill, nb::arg().noconvert());
}
CODE
python=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_path('include'))")
suffix=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")
nanobind=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/nanobind
g++ -std=c++20 -O0 -shared -fPIC -fvisibility=hidden -I"$python" -I"$nanobind/include" \
  -I"$nanobind/ext/robin_map/include" n.cpp "$nanobind/src/nb_combined.cpp" -o "filling$suffix"
cat > check.py <<'CODE'
import sys
import numpy
import filling
function = getattr(filling, sys.argv[1])
fixed = numpy.zeros(3, numpy.float32)
fixed.flags.writeable = False
seen = []
for array in (numpy.zeros(3, numpy.float32), numpy.zeros(3), numpy.zeros(6, numpy.float32)[::2], fixed):
    try:
        function(array)
        seen.append(str(array[0]))
    except TypeError:
        seen.append("TypeError")
print(*seen)
CODE
expect "float, double, with gaps, read-only" "$(venv/bin/python check.py fill)" "7.0 0.0 0.0 TypeError"
expect "with noconvert" "$(venv/bin/python check.py fill_strictly)" "7.0 TypeError TypeError TypeError"
