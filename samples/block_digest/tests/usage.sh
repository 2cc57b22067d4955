#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Error guess: if an argument is wrong, the exit status is 2 and the message names this argument.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

random_file good 10
# refused TEXT argument...: runs the program and expects exit status 2 and an error with TEXT.
refused() {
  local offender=$1
  shift
  digest 2 "$@"
  grep -Fq -- "$offender" err || fail "the error of 'block_digest $*' does not contain '$offender'"
}
refused PATH
refused 0 --block 0 good
refused '--block: x unit' --block 12x good
refused 68157440 --block 65MiB good
refused '0 not in range' --readers 0 good
refused '257 not in range' --readers 257 good
refused '--readers' --readers some good
refused 'some not in' --verify some good
refused cpu:0x --devices cpu:0x good
refused none_such --devices none_such good
refused no_folder/manifest --devices cpu --manifest no_folder/manifest good
refused /dev/full --devices cpu --manifest /dev/full good
digest 0 --help
grep -q -- --manifest out || fail "the help does not list --manifest"
! grep -q -- --corrupt out || fail "the help lists --corrupt"
