# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Functions for the tests of samples. The argument of each test is the path of the program. Each test
# works in a temporary folder.
set -euo pipefail
program=$(realpath "$1")
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
