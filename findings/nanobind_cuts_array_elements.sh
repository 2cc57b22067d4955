#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# nanobind 3.1.0 with NumPy 2.3.5: functions take an index as `int`, as `std::vector<int>` and as
# `nb::ndarray<const int>`, and get numbers that are no int: 2^40 + 5, and 1.9.
#
# Guess:  all raise TypeError. nanobind is strict about scalars.
# Seen:   int and std::vector<int> raise it. The array of int gets 5 and 1: nanobind converts the array as
#         a cast of NumPy does, which cuts integers and fractions without a warning.
# So large indexes, whose type in NumPy is int64, address other elements. nb::arg().noconvert() refuses them.
. "$(dirname "$0")/lib.sh"
pip_install numpy==2.3.5 nanobind==3.1.0
cat > n.cpp <<'CODE'
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>
#include <vector>
namespace nb = nanobind;
using array = nb::ndarray<const int, nb::ndim<1>, nb::c_contig>;
static int first(array all) { return all.data()[0]; }
NB_MODULE(indexes, m) {
  m.def("scalar", [](int index) { return index; });
  m.def("vector", [](const std::vector<int>& all) { return all.at(0); });
  m.def("array", &first);
  m.def("strict_array", &first, nb::arg().noconvert());
}
CODE
python=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_path('include'))")
suffix=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")
nanobind=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/nanobind
g++ -std=c++20 -O0 -shared -fPIC -fvisibility=hidden -I"$python" -I"$nanobind/include" \
  -I"$nanobind/ext/robin_map/include" n.cpp "$nanobind/src/nb_combined.cpp" -o "indexes$suffix"
cat > check.py <<'CODE'
import sys
import numpy
import indexes
function = getattr(indexes, sys.argv[1])
for value in 2**40 + 5, 1.9:
    try:
        print(function(value if sys.argv[1] == "scalar" else numpy.array([value])), end=" ")
    except TypeError:
        print("TypeError", end=" ")
CODE
for form in scalar vector array strict_array; do
  [ $form = array ] && expected="5 1 " || expected="TypeError TypeError "
  expect "$form, 2^40 + 5 and 1.9" "$(venv/bin/python -W error check.py $form)" "$expected"
done
