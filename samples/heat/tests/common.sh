# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Functions for the tests of heat.
source "$(dirname "${BASH_SOURCE[0]}")/../../test_functions.sh" "$1"

heat() { exits "$@"; }

# verified argument...: runs the program, which must find that its result is right.
verified() {
  heat 0 --verify "$@"
  grep -Fq 'equal a serial computation' out || fail "'heat $*' has verified nothing"
}

# refused TEXT argument...: runs the program and expects exit status 2 and an error with TEXT.
refused() {
  local offender=$1
  shift
  heat 2 "$@"
  grep -Fq -- "$offender" err || fail "the error of 'heat $*' does not contain '$offender'"
}

# same FILE FILE: the files must have the same bytes.
same() { cmp "$1" "$2" >&2 || fail "$1 and $2 differ"; }
