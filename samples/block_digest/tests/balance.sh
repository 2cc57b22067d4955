#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: if one of four devices is slower by a factor of five, it gets at most half as many
# blocks as each of the other devices.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

random_file input 100000000
export FLOTILLA_CPU_INJECT=slow=1:5

# Other processes can disturb the measured speeds, so only one of three runs has to pass.
for attempt in 1 2 3; do
  digest 0 --devices cpu:4 input
  slow=$(blocks_of 1)
  ((slow > 0)) || fail "the slow device got no blocks"
  balanced=yes
  for device in 0 2 3; do
    others=$(blocks_of $device)
    ((2 * slow <= others)) || balanced="device 1 is slow and has $slow blocks, device $device has $others"
  done
  [[ $balanced != yes ]] || exit 0
done
fail "$balanced"
