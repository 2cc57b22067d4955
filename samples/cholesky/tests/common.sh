# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Functions for the tests of cholesky.
source "$(dirname "${BASH_SOURCE[0]}")/../../test_functions.sh" "$1"

cholesky() { exits "$@"; }

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
