#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# NVRTC 13.0 (PyPI): a source from memory, compiled without -I and without headers in memory, has
# `#include "value.h"`. The working directory happens to have a file of this name.
#
# Guess:  the header is not found. Headers come from the arrays of nvrtcCreateProgram, or from folders
#         that an option names.
# Seen:   the file of the working directory is used. In another directory the same call fails. So the
#         result of a compilation, and a cache of it, depend on where the program was started. The
#         option --no-source-include turns this off, and with it the search beside other headers.
. "$(dirname "$0")/lib.sh"
pip_install nvidia-cuda-nvrtc==13.0.88
mkdir with without
echo '#define VALUE 7' > with/value.h
cat > check.py <<'CODE'
import ctypes
import os
import sys
nvrtc = ctypes.CDLL(sys.argv[1])
options = (ctypes.c_char_p * 2)(b"-arch=compute_80", b"--no-source-include")
source = b'#include "value.h"\nextern "C" __global__ void f(int* x) { *x = VALUE; }'
for folder in ("with", "without"):
    os.chdir(os.path.join(sys.path[0], folder))
    for count in (1, 2):
        program = ctypes.c_void_p()
        assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"a.cu", 0, None, None) == 0
        print(nvrtc.nvrtcCompileProgram(program, count, options), end=" ")
CODE
expect "status in a directory with the file, then without it; each also with the option" \
  "$(python3 check.py "$(find "$work/venv" -name 'libnvrtc.so.13')")" "0 6 6 6 "
