#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# nvcc 13.0 (PyPI): a build passes -DSIZES=small,large to gcc and to nvcc.
#
# Guess:  the macro SIZES is `small,large` for both.
# Seen:   nvcc splits the values of its options at commas, without a message: SIZES is `small`, and there is
#         a second macro, `large`, whose value is 1.
# So a table in a macro loses its other elements, and a name of the program becomes 1.
. "$(dirname "$0")/lib.sh"
pip_install nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.88
nvcc=$(find "$work/venv" -path '*bin/nvcc')
cat > sizes.cu <<'CODE'
#define TEXT_(...) #__VA_ARGS__
#define TEXT(...) TEXT_(__VA_ARGS__)
const char* seen[] = {TEXT(SIZES), TEXT(large)};
CODE
seen() { sed -n 's/^const char\* seen\[\] = //p'; }
expect "gcc: SIZES and large" "$(gcc -x c++ -DSIZES=small,large -E sizes.cu | seen)" \
  '{"small,large", "large"};'
expect "nvcc: SIZES and large" "$("$nvcc" -arch=sm_90 -DSIZES=small,large -E sizes.cu | seen)" \
  '{"small", "1"};'
