# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Functions for the tests of block_digest.
source "$(dirname "${BASH_SOURCE[0]}")/../../test_functions.sh" "$1"

digest() { exits "$@"; }

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
