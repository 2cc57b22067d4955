#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: two ranks compute the same bits as one, also if their devices differ, if a rank has no
# tiles, and if the devices have memory for a part of the matrix only. If the matrix is not positive
# definite, or one rank fails, both end. The second argument is the launcher of MPI.
launcher=$2
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"
export FLOTILLA_DEVICES=cpu:2

# equal argument...: runs the program as one rank and as two, which must compute the same factor.
equal() {
  cholesky 0 "$@" --output one.mtx
  over_ranks 0 "$@" --output two.mtx
  is_accurate
  cmp one.mtx two.mtx || fail "'cholesky $*': the factors differ"
}

equal --size 200 --tile 32
equal --size 200 --tile 32 --type f32 --panel 2 --start device --repeat 2
equal --size 20 --tile 200
equal --size 320 --tile 32 --memory-limit 128KiB
grep -Eq 'rank 1, .*[1-9][0-9]* evictions' out || fail 'nothing was evicted on rank 1'
setting=FLOTILLA_DEVICES=cpu:1 equal --size 100 --tile 16

write_sparse_matrix
export FLOTILLA_DEVICES=cpu:1
equal --matrix sparse.mtx --tile 1
for minor in 2 3; do  # rank 1 has factored the tile (2, 2), rank 0 the tile (3, 3)
  sed -E "s/^($minor $minor) ([0-9]+[.])/\1 -\2/" sparse.mtx >indefinite.mtx
  over_ranks 1 --matrix indefinite.mtx --tile 1
  grep -Fq "leading minor of order $minor is not positive" err || fail 'the minor is not named'
done

over_ranks 2 --compare
grep -Fq -- '--compare: it measures one rank' err || fail 'the error does not name --compare'
over_ranks 2 --compare-mg
grep -Fq -- '--compare-mg: it measures one rank' err || fail 'the error does not name --compare-mg'
setting=FLOTILLA_CPU_INJECT=fault=0@3:700 over_ranks 2 --size 200 --tile 32
