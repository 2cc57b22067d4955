# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Functions for the tests of cholesky. The argument of each test is the path of the program. Each
# test works in a temporary folder.
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

# cholesky STATUS argument...: runs the program and expects the exit status STATUS. The files `out`
# and `err` get the output.
cholesky() {
  local expected=$1 status=0
  shift
  "$program" "$@" >out 2>err || status=$?
  [[ $status == "$expected" ]] || fail "the exit status of 'cholesky $*' is $status, but must be $expected"
}

# is_accurate: the last run has printed a backward error of less than 1.
is_accurate() {
  awk '/^backward error:/ { seen = $3 < 1 && $3 >= 0 } END { exit !seen }' out || fail 'no accurate factor'
}

# refused TEXT argument...: runs the program and expects exit status 2 and an error with TEXT.
refused() {
  local offender=$1
  shift
  cholesky 2 "$@"
  grep -Fq -- "$offender" err || fail "the error of 'cholesky $*' does not contain '$offender'"
}
