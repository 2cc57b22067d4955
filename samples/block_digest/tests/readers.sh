#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: the manifest is the same for any number of readers, also if several of them read parts
# of one large file.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

mkdir -p tree/folder
random_file tree/large 20000123  # 77 batches of a CPU device, so many parts
random_file tree/folder/middle 700000
for i in $(seq 300); do random_file "tree/folder/small_$i" $((i * 7)); done
: >tree/folder/empty
mapfile -d '' -t files < <(find tree -type f -print0 | sort -z)
expected_manifest 65536 "${files[@]}" >expected
for readers in 1 2 8; do
  for run in 1 2; do
    digest 0 --block 64KiB --readers $readers --devices cpu:3 --manifest manifest tree
    diff expected manifest >difference || fail "$readers readers: $(head -5 difference)"
    [[ ! -s err ]] || fail "there is output on standard error"
  done
done

# Files below /proc have contents although their size is 0. This one needs more than one batch, so a
# reader gets more blocks than were planned.
if [[ -r /proc/kallsyms ]] && (($(wc -c </proc/kallsyms) > 600000)); then
  cp /proc/kallsyms copy
  expected_manifest 65536 copy | sed 's|copy$|/proc/kallsyms|' >expected
  expected_manifest 65536 tree/folder/middle >>expected
  digest 0 --block 64KiB --readers 2 --devices cpu:2 --manifest manifest /proc/kallsyms tree/folder/middle
  diff expected manifest >difference || fail "/proc/kallsyms: $(head -5 difference)"
fi

# Files below /sys are shorter than their size.
short=/sys/kernel/mm/transparent_hugepage/enabled
if [[ -r $short ]]; then
  cp $short copy
  expected_manifest 16 copy | sed "s|copy$|$short|" >expected
  digest 0 --block 16 --readers 2 --devices cpu:2 --manifest manifest $short
  diff expected manifest >difference || fail "$short: $(head -5 difference)"
fi
