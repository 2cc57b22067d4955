#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# nanobind 3.1.0 and pybind11 3.1.0 with NumPy 2.3.5: a function `bool -> bool` is called with
# numpy.bool_, the type of every comparison of NumPy, such as `a[0] > 1`.
#
# Guess:  both accept it, because it is a truth value with an exact conversion.
# Seen:   pybind11 accepts it. nanobind raises TypeError, although it accepts numpy.int64 for int, and
#         numpy.float32 for float.
. "$(dirname "$0")/lib.sh"
pip_install numpy==2.3.5 nanobind==3.1.0 pybind11==3.1.0
cat > functions.inc <<'CODE'
  m.def("flag", [](bool value) { return value; });
  m.def("integer", [](int value) { return value; });
  m.def("number", [](float value) { return value; });
CODE
printf '#include <nanobind/nanobind.h>\nNB_MODULE(with_nanobind, m) {\n#include "functions.inc"\n}\n' > n.cpp
printf '#include <pybind11/pybind11.h>\nPYBIND11_MODULE(with_pybind, m) {\n#include "functions.inc"\n}\n' > p.cpp
python=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_path('include'))")
suffix=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")
packages=$(venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")
flags="-O0 -shared -fPIC -fvisibility=hidden -I$python"
g++ -std=c++20 $flags -I"$packages/nanobind/include" -I"$packages/nanobind/ext/robin_map/include" \
  n.cpp "$packages/nanobind/src/nb_combined.cpp" -o "with_nanobind$suffix"
g++ -std=c++17 $flags -I"$packages/pybind11/include" p.cpp -o "with_pybind$suffix"
cat > check.py <<'CODE'
import sys
import numpy
module = __import__(sys.argv[1])

def result(function, value):
    try:
        return repr(function(value))
    except TypeError:
        return "TypeError"

print(result(module.flag, numpy.bool_(True)), result(module.integer, numpy.int64(3)),
      result(module.number, numpy.float32(1.5)))
CODE
expect "pybind11: bool, int, float" "$(venv/bin/python check.py with_pybind)" "True 3 1.5"
expect "nanobind: bool, int, float" "$(venv/bin/python check.py with_nanobind)" "TypeError 3 1.5"
