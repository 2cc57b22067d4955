#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: --verify all computes every digest again, sample one of 64, and none no digest. The
# manifest is the same, and the last line claims no more than was verified.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

random_file good 1000000    # 245 blocks
random_file other 300000    # 74 blocks
expected_manifest 4096 good other >expected

# last_line TEXT: checks how the last line begins.
last_line() { [[ $(tail -n 1 out) == "digest: $1, "* ]] || fail "the last line does not begin with 'digest: $1, '"; }

for mode in all sample none; do
  digest 0 --verify $mode --devices cpu:2 --manifest manifest good other
  cmp expected manifest || fail "--verify $mode: the manifest is not as expected"
  case $mode in
    all) last_line '319 blocks verified, 1300000 bytes' ;;
    sample) last_line '319 blocks, 5 verified, 1300000 bytes' ;;
    none) last_line '319 blocks, none verified, 1300000 bytes' ;;
  esac
done
digest 0 --devices cpu:2 good other
last_line '319 blocks verified, 1300000 bytes'  # the default is all

# The digest of the first block is wrong. It is part of the sample.
for mode in all sample; do
  digest 1 --verify $mode --corrupt --devices cpu:2 --manifest manifest good other
  grep -Eq '^block_digest: good: block at offset 0, 4096 bytes: device [01] and the host disagree on its digest$' err ||
    fail "--verify $mode: the corrupt block is not named"
  tail -n +2 expected | cmp - manifest || fail "--verify $mode: the other blocks are not as expected"
done
# Without verification nothing finds it, so the program must not say that it has verified anything.
digest 0 --verify none --corrupt --devices cpu:2 --manifest manifest good other
last_line '319 blocks, none verified, 1300000 bytes'
[[ $(head -n 1 manifest) != "$(head -n 1 expected)" ]] || fail "the first digest is not corrupt"
tail -n +2 expected | cmp - <(tail -n +2 manifest) || fail "--verify none: the other blocks are not as expected"
