#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: the result equals a serial computation, and is the same picture, for any number of
# devices and bands, and for any size of the field and the bands.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

for devices in 1 2 4; do
  for bands in 1 2 3 4 5; do
    verified --devices "cpu:$devices" --bands "$bands" --size 53x70 --steps 31 \
      --output "$devices-$bands.png"
    used=$((bands < devices ? bands : devices))
    tail -n 1 out | grep -Eq "^heat: 53 x 70, 31 steps, $used devices?, [0-9.e-]+ s, [0-9.]+ GB/s$" ||
      fail 'the last line is wrong'
    same 1-1.png "$devices-$bands.png"
  done
done

# Rows that are aligned for wide loads and rows that are not, fields that are wider than a block, and
# bands with more rows than a block.
for size in 3x3 4x4 5x3 3x1031 64x1024 61x1025 100x2050 90x4; do
  verified --devices cpu:2 --size "$size" --steps 9
  verified --devices cpu:3 --bands 3 --size "$size" --steps 4 --alpha 0.1
done
verified --devices cpu:4 --size 17x40 --bands 17 --steps 40  # each band is a single row
verified --devices cpu:2 --size 40x40 --steps 1
verified --devices cpu:2 --size 40x40 --steps 0

# Only edges move: in each step one row of 280 bytes to each device, and at the start the edge at the
# border of the field.
heat 0 --devices cpu:2 --bands 2 --size 53x70 --steps 31
for device in 0 1; do
  grep -Fxq "device $device: $((32 * 280)) bytes copied to it" out || fail 'more or less than edges moved'
done

# The heat must have spread over the edges of bands: a picture before and after.
heat 0 --devices cpu:2 --size 53x70 --steps 0 --output before.png
! cmp -s before.png 1-1.png || fail 'the steps have changed nothing'

# The steps of flow::repeat have the same result.
verified --devices cpu:2 --size 60x66 --steps 47 --repeat 2
verified --devices cpu:2 --size 60x66 --steps 47 --repeat 10
refused 'must be an even number' --repeat 3
