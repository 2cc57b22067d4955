#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: --compare prints a table, and the steps by hand have the same result. The second
# argument is the folder of flotilla's libcuda.so.1, which the control loads.
drivers=$(realpath "$2")
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

export LD_LIBRARY_PATH=$drivers${LD_LIBRARY_PATH+:$LD_LIBRARY_PATH}
export FLOTILLA_DEVICES=cpu:2
heat 0 --compare --size 60x66 --steps 5 --verify
for row in 'copy kernel, 1 device' 'flotilla, 1 device, 4 bands' 'by hand, 1 device, 4 bands' \
  'by hand, 1 device, 1 band' 'flotilla, 2 devices, 8 bands' 'by hand, 2 devices, 8 bands' \
  'by hand, 2 devices, 2 bands'; do
  grep -Eq "^$row +[0-9.]+ +[0-9.]+$" out || fail "the table has no row '$row'"
done
tail -n 1 out | grep -q '^heat: 60 x 66, 5 steps, 2 devices' || fail 'the last line is wrong'

heat 0 --compare --size 60x66 --steps 5 --bands 5
grep -q '^by hand, 2 devices, 5 bands' out || fail 'the table has no row for five bands'
