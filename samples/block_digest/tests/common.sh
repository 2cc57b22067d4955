# Shared by the tests of block_digest. Each test gets the program as its argument and works in a
# temporary folder.
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

# digest STATUS argument...: runs the program with its output in `out` and `err`, and expects that
# exit status.
digest() {
  local expected=$1 status=0
  shift
  "$program" "$@" >out 2>err || status=$?
  [[ $status == "$expected" ]] || fail "exit status $status, not $expected, of: block_digest $*"
}

# random_file NAME BYTES
random_file() { head -c "$2" /dev/urandom >"$1"; }

# expected_manifest BLOCK FILE...: prints the manifest of these files, made with coreutils alone.
expected_manifest() {
  local block=$1 file size offset length line prefix shown
  shift
  for file; do
    size=$(stat -c %s -- "$file")
    line=$(sha256sum -- "$file")  # the manifest escapes names in the same way
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

# blocks_of DEVICE: the device's blocks in the table.
blocks_of() { awk -v device="$1" '$1 == device && $NF + 0 == $NF { print $(NF - 4) }' out; }
