#!/usr/bin/env bash
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
#
# Requirement: matrices are read from Matrix Market files, and points from CSV files. Errors name
# file and line.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$1"

write_sparse_matrix
cat >array.mtx <<'END'
%%MatrixMarket matrix array real symmetric
2 2
2
1
3
END
for file in sparse.mtx array.mtx; do
  cholesky 0 --devices cpu:1 --tile 2 --matrix "$file"
  is_accurate
done

awk 'BEGIN { for (i = 0; i < 100; ++i) print sin(i) "," cos(2 * i) "," i / 100 }' >points.csv
cholesky 0 --devices cpu:2 --tile 16 --points points.csv --length 0.5
is_accurate

sed 's/^2 2 5.0/2 2 -5/' sparse.mtx >indefinite.mtx
cholesky 1 --devices cpu:1 --tile 2 --matrix indefinite.mtx
grep -Fq 'leading minor of order 2 is not positive' err || fail 'the minor is not named'
sed 's/^3 3 6.5/3 3 -5/' sparse.mtx >indefinite.mtx
cholesky 1 --devices cpu:1 --tile 2 --matrix indefinite.mtx
grep -Fq 'leading minor of order 3 is not positive' err || fail 'the minor is not named'

refused 'none.mtx: cannot be opened' --matrix none.mtx
sed 's/symmetric/general/' sparse.mtx >bad.mtx
refused 'bad.mtx, line 1: the matrix must be real or integer, and symmetric' --matrix bad.mtx
sed 's/^3 2 -1/4 2 -1/' sparse.mtx >bad.mtx
refused 'bad.mtx, line 8: an index must be a whole number from 1 to 3' --matrix bad.mtx
sed '$d' sparse.mtx >bad.mtx
refused 'bad.mtx, line 7: the file ends too early' --matrix bad.mtx
sed 's/^2 1 1.25/2 1 1.2x/' sparse.mtx >bad.mtx
refused "bad.mtx, line 7: '1.2x' is not a number" --matrix bad.mtx
sed '4s/.*/1,2/' points.csv >bad.csv
refused 'bad.csv, line 4: the point has 2 coordinates, but the first one has 3' --points bad.csv
: >empty.csv
refused 'there are no points' --points empty.csv
