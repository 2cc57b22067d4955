#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Error guess: if an argument is wrong, the exit status is 2 and the message names this argument.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

for size in 0 512 512x 512x512x 3xx3 -4x4 axb '4 x 4' 4x99999999999999999999; do
  refused "$size" --size "$size"
  grep -Fq -- --size err || fail "the error of '--size $size' does not name the option"
done
refused 'the field has 2 rows and 9 columns, but each must be between 3 and 1048576' --size 2x9
refused '9 rows and 1048577 columns' --size 9x1048577
for alpha in 0 -0.1 0.2500001 1 nan inf x; do
  refused "--alpha: must be greater than 0 and at most 0.25" --alpha "$alpha"
  grep -Fq "'$alpha'" err || fail "the error does not name the value '$alpha'"
done
refused --bands --bands 0
refused '--bands: 9 bands need as many rows, but the field has 8' --devices cpu:1 --size 8x8 --bands 9
refused --steps --steps -1
refused --output --output picture.jpg
refused 'picture.jpg: the name of the file must end with .png' --output picture.jpg
refused --size --size 8x8 --input a.csv
refused --compare --devices cpu:1 --compare --steps 0
refused none_such --devices none_such
refused memory_limit --devices cpu:1 --memory-limit 0
refused --nonsense --nonsense
heat 0 --help
grep -q -- --alpha out || fail 'the help does not list --alpha'
