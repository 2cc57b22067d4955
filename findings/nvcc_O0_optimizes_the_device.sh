#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# nvcc 13.0 (PyPI): a kernel is compiled with -O0, for example to look at its instructions, or to find out
# whether a wrong result comes from the optimizer.
#
# Guess:  -O0 turns the optimizer off for host and device, as -O0 of gcc does.
# Seen:   the code of the device is the same for -O0 and -O3, byte for byte. The option is only for the host
#         compiler. -Xptxas -O0 changes the code, and so does -G.
# So a bug of the device's optimizer stays with -O0, and looks like a bug of the program.
. "$(dirname "$0")/lib.sh"
pip_install nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88
pip_install nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.88
nvcc=$(find "$work/venv" -path '*bin/nvcc')
cat > kernel.cu <<'CODE'
__global__ void add(float* x) {
  float sum = 0;
  for (int i = 0; i < 4; ++i) { sum += x[i]; }
  x[0] = sum;
}
CODE
compiled() {
  "$nvcc" -arch=sm_90 -cubin "$@" kernel.cu -o kernel.cubin
  cksum < kernel.cubin
}
with_O3=$(compiled -O3)
same_as_O3() { [ "$(compiled "$@")" = "$with_O3" ] && echo same || echo other; }
expect "-O3 again" "$(same_as_O3 -O3)" same
expect "-O0" "$(same_as_O3 -O0)" same
expect "-Xptxas -O0" "$(same_as_O3 -Xptxas -O0)" other
