# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Functions for the tests of cholesky.
source "$(dirname "${BASH_SOURCE[0]}")/../../test_functions.sh" "$1"

cholesky() { exits "$@"; }

# write_sparse_matrix: writes a positive definite matrix to sparse.mtx.
write_sparse_matrix() {
  cat >sparse.mtx <<'END'
%%MatrixMarket matrix coordinate real symmetric
% a comment
3 3 5
1 1 4.0
2 2 5.0
3 3 6.5
2 1 1.25
3 2 -1
END
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
