#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: the factor is accurate if the devices have memory for a part of the matrix only, and
# a limit that is too small is refused.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

cholesky 0 --devices cpu:2 --size 320 --tile 32 --memory-limit 128KiB --start device
is_accurate
grep -Eq '[1-9][0-9]* evictions' out || fail 'nothing was evicted'
refused 'its data need 24576 bytes' --devices cpu:1 --size 320 --tile 32 --memory-limit 16KiB
