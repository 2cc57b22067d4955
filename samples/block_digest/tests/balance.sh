#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: no task names a device, and flotilla gives all devices about the same number of
# batches. If one of four devices is slower by a factor of five, it gets at most half as many blocks
# as each of the other devices.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

random_file input 100000000

# Succeeds if device 1 has a share as the first argument says. Writes why not to `problem`.
shares_are() {
  local one others device
  one=$(blocks_of 1)
  problem=''
  ((one > 0)) || problem='device 1 got no blocks'
  for device in 0 2 3; do
    others=$(blocks_of $device)
    case $1 in
      equal) ((2 * one > others && one < 2 * others)) ;;
      less) ((2 * one <= others)) ;;
    esac || problem="device 1 has $one blocks, and device $device has $others"
  done
  [[ -z $problem ]]
}

# Other processes can disturb the measured speeds, so only one of three runs has to pass.
for expected in equal less; do
  [[ $expected == equal ]] || export FLOTILLA_CPU_INJECT=slow=1:5
  for attempt in 1 2 3; do
    digest 0 --devices cpu:4 --verify none input
    if shares_are $expected; then break; fi
  done
  [[ -z $problem ]] || fail "expected $expected blocks: $problem"
done
