#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: the factor is accurate, in both precisions, on one and several devices, and if the
# tiles do not divide the matrix.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

for devices in cpu:1 cpu:2 cpu:3; do
  for type in f64 f32; do
    cholesky 0 --devices "$devices" --type "$type" --size 200 --tile 32
    is_accurate
  done
done
cholesky 0 --devices cpu:2 --size 1
is_accurate
cholesky 0 --devices cpu:2 --size 96 --tile 200
is_accurate
cholesky 0 --devices cpu:2 --size 150 --tile 16 --panel 2 --start device --repeat 2
is_accurate
