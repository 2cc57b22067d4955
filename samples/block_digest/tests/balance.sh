#!/usr/bin/env bash
# Requirement: of four devices, one that is slowed by a factor of five gets at most half the blocks
# of any other.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

random_file input 100000000
export FLOTILLA_CPU_INJECT=slow=1:5

# This measures speed, which other processes disturb: one of three runs must show the balance.
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
