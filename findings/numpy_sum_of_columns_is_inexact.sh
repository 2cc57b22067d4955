#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# NumPy 2.3.5: an array of float32 has a million rows and 4 columns, and each element is 0.1. A test
# compares the sums of a kernel with x.sum(axis=0), as the reference.
#
# Guess:  the sum of a column is 100000, with an error of some 1e-7, because sum adds in pairs.
# Seen:   the sums of sum(axis=0) and the means of mean(axis=0) are too large by almost 1 %. NumPy adds the
#         rows one after another. x[:, 0].sum(), of the same elements, is exact to 1e-6.
# So a correct kernel fails the test. Use dtype=numpy.float64 for a reference.
. "$(dirname "$0")/lib.sh"
pip_install numpy==2.3.5
cat > check.py <<'CODE'
import numpy as np
x = np.full((1_000_000, 4), 0.1, dtype=np.float32)
def error(mean):
    error = abs(float(mean) / 0.1 - 1)
    return "below 1e-6" if error < 1e-6 else "above 0.5 %" if error > 0.005 else "other"
print(error(x.sum(axis=0)[0] / 1e6), error(x.mean(axis=0)[0]), sep=", ", end="; ")
print(error(x[:, 0].sum() / 1e6), error(x.sum(axis=0, dtype=np.float64)[0] / 1e6), sep=", ")
CODE
expect "errors of sum and mean with axis=0; of a column, of float64" "$(venv/bin/python check.py)" \
  "above 0.5 %, above 0.5 %; below 1e-6, below 1e-6"
