#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: two ranks compute the same bits as one, also if their devices differ, if there are more
# ranks than bands, and if the devices have memory for a part of the field only. Errors of one rank end
# both. The second argument is the launcher of MPI.
launcher=$2
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"
export FLOTILLA_DEVICES=cpu:2

field=(--size 53x70 --steps 31)
heat 0 "${field[@]}" --output one.png
for bands in 1 3; do
  over_ranks 0 "${field[@]}" --bands "$bands" --verify --output two.png
  same one.png two.png
  grep -Eq "^heat: 53 x 70, 31 steps, 2 ranks, $bands devices?, [0-9.e-]+ s, [0-9.]+ GB/s$" out ||
    fail 'the last line is wrong'
done
over_ranks 0 --input one.png --steps 31 --repeat 10 --verify
setting=FLOTILLA_DEVICES=cpu:1 over_ranks 0 "${field[@]}" --verify --output two.png
same one.png two.png
grep -q ' 2 ranks, 3 devices, ' out || fail 'the devices of both ranks are not counted'
over_ranks 0 --size 256x256 --bands 16 --steps 6 --memory-limit 80KiB --verify

# Only edges move between ranks, too.
export FLOTILLA_DEVICES=cpu:1
over_ranks 0 "${field[@]}" --bands 2
for rank in 0 1; do
  grep -Fxq "rank $rank, device 0: $((32 * 280)) bytes copied to it" out ||
    fail 'more or less than edges moved'
done

over_ranks 2 "${field[@]}" --compare
grep -Fq -- '--compare: it measures one rank' err || fail 'the error does not name --compare'
over_ranks 2 "${field[@]}" --output none/two.png
grep -Fq 'rank 1: rank 0 has failed: none/two.png' err || fail 'rank 1 does not know the error'
setting=FLOTILLA_CPU_INJECT=fault=0@3:700 over_ranks 2 "${field[@]}"
over_ranks 2 --size 256x256 --bands 2 --memory-limit 64KiB
