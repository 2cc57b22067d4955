#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: if some paths cannot be read or are not files, the program names these paths, digests
# the other files, and ends with exit status 1.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

random_file good 100000
ln -s good link
mkfifo pipe

# named TEXT: checks that standard error has the line "block_digest: TEXT".
named() { grep -Fxq "block_digest: $1" err || fail "standard error does not have the line: block_digest: $1"; }

# /proc/self/mem is a regular file whose first byte cannot be read, even by root.
digest 1 --devices cpu:2 --manifest manifest missing link pipe /dev/null /proc/self/mem $'new\nline' good
named 'missing: No such file or directory'
named 'link: a symbolic link, which is not followed'
named 'pipe: neither a file nor a folder'
named '/dev/null: neither a file nor a folder'
named '/proc/self/mem: Input/output error'
named 'new\nline: No such file or directory'
expected_manifest 4096 good | cmp - manifest || fail "the manifest of the good file is not as expected"
grep -q '^failures: 6,' out || fail "there are not 6 failures"
grep -q '^digest: 25 blocks verified, 100000 bytes, 2 devices' out || fail "the last line is not as expected"

# A file that no reader can read, although it has a size, is named once, also if it was divided into
# parts: the first part fills the batch of `small`, which has room for 4096 blocks.
unreadable=/sys/bus/platform/drivers_probe
if [[ -e $unreadable ]]; then
  head -c 100 good >small
  digest 1 --block 1 --devices cpu:2 --readers 2 --manifest manifest small $unreadable small
  [[ $(wc -l <err) == 1 ]] || fail "the unreadable file is not named once"
  grep -Eq "^block_digest: $unreadable: (Input/output error|Permission denied)$" err || fail "it is not named"
  (($(wc -l <manifest) == 200)) || fail "the other blocks are not as expected"
fi

# A file vanishes after the program has listed its folder. When the manifest has its first lines,
# the program has listed the folder, but it is still reading the large first file.
mkdir folder
random_file folder/a 20000000
random_file folder/vanishing 10
random_file folder/z 10
FLOTILLA_CPU_INJECT=slow=0:20 "$program" --devices cpu:1 --manifest manifest folder >out 2>err &
job=$!
until [[ -s manifest && $(head -n 1 manifest) == *folder/a ]] || ! kill -0 $job 2>/dev/null; do sleep 0.01; done
rm folder/vanishing
status=0
wait $job || status=$?
[[ $status == 1 ]] || fail "exit status $status when a file vanished"
named 'folder/vanishing: No such file or directory'
[[ $(tail -n 1 manifest) == *folder/z ]] || fail "the file after the vanished file was not digested"

# A driver call fails. The program names the blocks that have no digest, at most those of one batch,
# and digests the others.
random_file several 10000000
FLOTILLA_CPU_INJECT=fail=cuMemcpyHtoDAsync@20:CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES \
  digest 1 --devices cpu:2 --readers 2 --manifest manifest several
failed=$(grep -c '^block_digest: several: block at offset [0-9]*, [0-9]* bytes: no digest: .*CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES' err) ||
  fail "the failed copy is not named"
((failed <= 64 && failed == $(wc -l <err))) || fail "$failed blocks have no digest"
expected_manifest 4096 several >expected
(($(wc -l <manifest) + failed == $(wc -l <expected))) || fail "other blocks are lost"
[[ -z $(comm -13 <(sort expected) <(sort manifest)) ]] || fail "a digest is wrong"
grep -q '^digest: ' <(tail -n 1 out) || fail "there is no last line"

# A kernel faults. Nothing can go on, so the program says why and ends with status 2.
FLOTILLA_CPU_INJECT=fault=0@5:CUDA_ERROR_ILLEGAL_ADDRESS digest 2 --devices cpu:2 --readers 2 several
grep -q '^block_digest: CUDA_ERROR_ILLEGAL_ADDRESS (700): a kernel faulted' err || fail "the fault is not named"
