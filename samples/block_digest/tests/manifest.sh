#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: the manifest has the same digests as sha256sum, in the documented order, also for
# files with unusual names and sizes.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

mkdir -p 'tree/a/deep' 'tree/a-b' tree/empty_folder
random_file tree/a/deep/file 100000
random_file tree/a/z 4096                # exactly one block
random_file tree/a-b/x 4097              # one block and one byte
random_file tree/a.txt 1                 # byte order is "a-b/", "a.txt", "a/": '-' < '.' < '/'
: >tree/a/empty
random_file 'tree/with  two spaces' 5000
random_file $'tree/new\nline' 9000
random_file 'tree/back\slash' 9000
random_file $'tree/both\\\n' 10
random_file tree/$'\xff\xfe' 10          # not UTF-8
ln -s a.txt tree/link_to_file
ln -s a tree/link_to_folder
ln -s nowhere tree/dangling
mkfifo tree/pipe
random_file single 1200000               # more than a batch
for i in $(seq 100); do random_file "tree/a/small_$i" "$i"; done  # more blocks than a batch can hold
cp single copy

mapfile -d '' -t files < <(find tree -type f -print0 | sort -z)
for block in 4096 10000; do
  expected_manifest $block single "${files[@]}" copy >expected
  digest 0 --block $block --devices cpu:3 --manifest manifest single tree copy
  diff expected manifest >difference || fail "block $block: $(head -5 difference)"
  [[ ! -s err ]] || fail "there is output on standard error"
  blocks=$(wc -l <manifest)
  bytes=$(cat single "${files[@]}" copy | wc -c)
  grep -Eq "^digest: $blocks blocks verified, $bytes bytes, 3 devices, [0-9.]+ MB/s$" <(tail -n 1 out) ||
    fail "the last line is not as expected"
  distinct=$(sed 's/^\\//' manifest | cut -c 1-64 | sort -u | wc -l)
  grep -q "^distinct: $distinct of $blocks blocks" out || fail "the output does not have $distinct distinct blocks"
  grep -q '^left out: 4 ' out || fail "the output does not say that 3 links and a pipe are left out"
done

# Very small blocks, blocks larger than a default batch, and a size with a unit.
digest 0 --block 7 --devices cpu --manifest manifest tree/a/z
expected_manifest 7 tree/a/z | cmp - manifest || fail "block 7"
digest 0 --block 2MiB --devices cpu --manifest manifest single
expected_manifest $((2 << 20)) single | cmp - manifest || fail "block 2MiB"

# Boundary: if there are no blocks, the program succeeds.
digest 0 --devices cpu:2 --manifest manifest tree/a/empty tree/empty_folder
[[ ! -s manifest ]] || fail "the manifest has a line for an empty file"
grep -q '^digest: 0 blocks verified, 0 bytes, 2 devices' out || fail "the last line is not as expected"
