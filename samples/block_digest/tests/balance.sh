#!/usr/bin/env bash
# Requirement: one of four devices slowed five times gets at most half of another's blocks.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

random_file input 100000000
export FLOTILLA_CPU_INJECT=slow=1:5

# This measures speed, and others on the machine disturb it: one of three runs must show the balance.
for attempt in 1 2 3; do
  digest 0 --devices cpu:4 input
  slow=$(blocks_of 1)
  ((slow > 0)) || fail "a slow device still has its share"
  balanced=yes
  for device in 0 2 3; do
    others=$(blocks_of $device)
    ((2 * slow <= others)) || balanced="device 1 is slow and has $slow blocks, device $device has $others"
  done
  [[ $balanced != yes ]] || exit 0
done
fail "$balanced"
