#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# nvcc 13.0 (PyPI): `nvcc -E` of a source with `#ifdef __CUDA_ARCH__`.
#
# Guess:  the output is what the host compiler sees, as the name of the option of gcc says, or both.
# Seen:   only the view of the device is printed: __CUDA_ARCH__ is defined, and code for the host in
#         #else is missing. A tool that looks for host code in the output of nvcc -E finds nothing.
. "$(dirname "$0")/lib.sh"
pip_install nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.88
nvcc=$(find venv -path '*bin/nvcc')
cat > a.cu <<'CODE'
#ifdef __CUDA_ARCH__
int seen_by_the_device;
#else
int seen_by_the_host;
#endif
CODE
expect "what nvcc -E prints" "$("$nvcc" -arch=sm_80 -E a.cu | grep -o 'seen_by_the_[a-z]*')" \
  seen_by_the_device
