#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# libabigail 2.2 (Debian 12): abidiff compares two libraries whose only function has changed from
# `int scale(int)` to `double scale(double, int)`.
#
# Guess:  without debug information abidiff says that it cannot compare types, or fails.
# Seen:   it prints nothing and its exit status is 0, as for equal interfaces. With -g the status is 4.
# So a check in CI that gets stripped libraries always passes.
. "$(dirname "$0")/lib.sh"
unpack_debian abigail-tools=2.2-2 libabigail0=2.2-2
export LD_LIBRARY_PATH="$work/root/usr/lib/$(gcc -print-multiarch)"
echo 'int scale(int x) { return 2 * x; }' > old.c
echo 'double scale(double x, int n) { return n * x; }' > new.c

compared() {
  gcc -shared -fPIC $1 old.c -o old.so
  gcc -shared -fPIC $1 new.c -o new.so
  status=0
  root/usr/bin/abidiff old.so new.so > output || status=$?
  echo "status $status, $(grep -c . output || true) lines"
}
expect "without debug information" "$(compared "")" "status 0, 0 lines"
expect "with debug information, the status" "$(compared -g | cut -d, -f1)" "status 4"
