#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# NumPy 2.3.5: from_dlpack of arrays whose floats are not at multiples of 4 bytes, and of arrays whose
# distance between elements is not a multiple of their size.
#
# Guess:  both are refused, because consumers of DLPack, such as kernels of GPUs, use aligned loads.
# Seen:   the distance of 12 bytes between doubles raises BufferError. The misaligned array is exported
#         without a word: the consumer gets an address that it cannot load from.
. "$(dirname "$0")/lib.sh"
pip_install numpy==2.3.5
cat > check.py <<'CODE'
import numpy

def exported(array):
    try:
        other = numpy.from_dlpack(array)
        return f"address {other.ctypes.data % other.itemsize} modulo {other.itemsize}"
    except BufferError:
        return "BufferError"

misaligned = numpy.zeros(40, numpy.uint8)[1:37].view(numpy.float32)
spaced = numpy.zeros(5, [("a", numpy.float32), ("b", numpy.float64)])["b"]
print(exported(misaligned), exported(spaced), sep=", ")
CODE
expect "misaligned floats, doubles at 12 bytes" "$(venv/bin/python check.py)" \
  "address 1 modulo 4, BufferError"
