#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: no task names a device, and flotilla gives each device the same number of batches. It
# does so even if a device is slow (README.md says so), which is why the result does not depend on
# the load of the machine.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

random_file input 100000000
for inject in '' slow=1:5; do
  FLOTILLA_CPU_INJECT=$inject digest 0 --devices cpu:4 --verify none input
  least=$(blocks_of 0) most=$(blocks_of 0)
  for device in 1 2 3; do
    blocks=$(blocks_of $device)
    ((blocks < least)) && least=$blocks
    ((blocks > most)) && most=$blocks
  done
  # A batch of a CPU device has 64 blocks of 4 KiB. The last batch is not full.
  ((least > 0 && most - least <= 128)) || fail "with '$inject', one device has $least blocks, another $most"
done
