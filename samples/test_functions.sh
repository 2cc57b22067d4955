# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Functions for the tests of samples. The argument of each test is the path of the program. Each test
# works in a temporary folder.
set -euo pipefail
program=$(realpath "$1")
samples=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"
export LC_ALL=C

fail() {
  echo "FAILED: $*" >&2
  for log in out err; do
    [[ ! -f $log ]] || sed "s/^/  $log: /" "$log" >&2
  done
  exit 1
}

# exits STATUS argument...: runs the program and expects the exit status STATUS. The files `out` and
# `err` get the output.
exits() {
  local expected=$1 status=0
  shift
  "$program" "$@" >out 2>err || status=$?
  [[ $status == "$expected" ]] ||
    fail "the exit status of '$(basename "$program") $*' is $status, but must be $expected"
}

# over_ranks STATUS argument...: does the same with --mpi and two ranks, each of which must end with the
# status. $launcher is the launcher of MPI. $setting is an environment variable for rank 1, such as A=1.
over_ranks() {
  local expected=$1
  shift
  : >out
  : >err
  "$samples/../tests/mpi/run_ranks" --timeout 40 "$launcher" 2 \
    "$samples/team/run_rank" "$expected" "${setting-}" "$program" --mpi "$@" ||
    fail "'$(basename "$program") --mpi $*': a rank has not ended with $expected"
}
