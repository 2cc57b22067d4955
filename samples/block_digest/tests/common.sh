# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Functions for the tests of block_digest. The argument of each test is the path of the program.
# Each test works in a temporary folder.
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

# digest STATUS argument...: runs the program and expects the exit status STATUS. The files `out`
# and `err` get the output.
digest() {
  local expected=$1 status=0
  shift
  "$program" "$@" >out 2>err || status=$?
  [[ $status == "$expected" ]] || fail "the exit status of 'block_digest $*' is $status, but must be $expected"
}

# random_file NAME BYTES: makes a file with random contents.
random_file() { head -c "$2" /dev/urandom >"$1"; }

# expected_manifest BLOCK FILE...: prints the manifest that the program must write for these files.
# It uses only coreutils.
expected_manifest() {
  local block=$1 file size offset length line prefix shown
  shift
  for file; do
    size=$(stat -c %s -- "$file")
    line=$(sha256sum -- "$file")  # sha256sum escapes names like the manifest
    prefix=${line%%[!\\]*}
    shown=${line#*  }
    offset=0
    split -b "$block" --filter=sha256sum -- "$file" | while read -r line; do
      length=$((size - offset < block ? size - offset : block))
      printf '%s%s  %d  %d  %s\n' "$prefix" "${line%% *}" "$offset" "$length" "$shown"
      offset=$((offset + block))
    done
  done
}

# blocks_of DEVICE: prints the number of blocks of the device, from the table in `out`.
blocks_of() { awk -v device="$1" '$1 == device && $NF + 0 == $NF { print $(NF - 4) }' out; }
