#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: the program finds a wrong digest and names its block.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

random_file good 50000
random_file other 10000
digest 1 --devices cpu:2 --corrupt --manifest manifest good other
grep -Eq '^block_digest: good: block at offset 0, 4096 bytes: device [01] and the host disagree on its digest$' err ||
  fail "the corrupt block is not named"
[[ $(wc -l <err) == 1 ]] || fail "standard error has more than one line"
expected_manifest 4096 good other | tail -n +2 | cmp - manifest || fail "the other blocks are not as expected"
grep -q '^digest: 15 blocks verified, 55904 bytes' out || fail "the last line is not as expected"
