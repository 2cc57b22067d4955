#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Error guess: if an argument is wrong, the exit status is 2 and the message names this argument.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

refused --size --size 0
refused --tile --tile x
refused --type --type f16
refused --start --start gpu
refused --points --points a.csv --matrix b.mtx
refused none_such --devices none_such
refused --mg-block --mg-block 0
refused cusolverMgPotrf --devices cpu:1 --size 32 --compare-mg
refused 'memory_limit' --devices cpu:1 --memory-limit 0
cholesky 0 --help
grep -q -- --memory-limit out || fail 'the help does not list --memory-limit'
