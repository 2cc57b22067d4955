#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# NVRTC and ptxas 13.0 (PyPI): PTX that nvrtcGetPTX has written goes into a file, and to ptxas.
#
# Guess:  ptxas compiles the bytes that NVRTC has made, all of nvrtcGetPTXSize.
# Seen:   the size counts a NUL at the end, and ptxas refuses it: "Unexpected EOF". Without the last
#         byte it compiles. The NUL is there for cuModuleLoadData, which reads a string.
. "$(dirname "$0")/lib.sh"
pip_install nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-nvcc==13.0.88
cat > check.py <<'CODE'
import ctypes
import sys
nvrtc = ctypes.CDLL(sys.argv[1])
program, size = ctypes.c_void_p(), ctypes.c_size_t()
source = b'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"a.cu", 0, None, None) == 0
options = (ctypes.c_char_p * 1)(b"-arch=compute_80")
assert nvrtc.nvrtcCompileProgram(program, 1, options) == 0
assert nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
text = ctypes.create_string_buffer(size.value)
assert nvrtc.nvrtcGetPTX(program, text) == 0
open("whole.ptx", "wb").write(text.raw)
open("text.ptx", "wb").write(text.raw[:-1])
CODE
python3 check.py "$(find "$work/venv" -name 'libnvrtc.so.13')"
ptxas=$(find venv -path '*bin/ptxas')
refusal=$("$ptxas" -arch=sm_80 whole.ptx -o whole.cubin 2>&1 || true)
expect "the whole" "$(echo "$refusal" | grep -o 'Unexpected EOF')" "Unexpected EOF"
"$ptxas" -arch=sm_80 text.ptx -o text.cubin
expect "without the last byte" "$(test -s text.cubin && echo compiled)" compiled
