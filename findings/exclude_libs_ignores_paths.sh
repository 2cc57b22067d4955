#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# GNU ld and gold of binutils 2.40 (Debian 12): a shared library is linked with the archive
# archives/libinner.a, and with --exclude-libs, so that it does not export the functions of the archive.
#
# Guess:  the option takes the archive as the command line names it, or says that it knows no such archive.
# Seen:   both compare only the name of the file. With archives/libinner.a the option has no effect,
#         and neither says so. The name must be libinner.a.
# So a build system that passes paths exports a private copy of a library, which then can replace the copy of
# another library in the same process.
. "$(dirname "$0")/lib.sh"
mkdir archives
echo 'int inner(void) { return 1; }' > inner.c
echo 'int inner(void); int outer(void) { return inner(); }' > outer.c
gcc -fPIC -c inner.c
ar rc archives/libinner.a inner.o
exported() {
  gcc -fuse-ld="$1" -shared -fPIC outer.c archives/libinner.a -Wl,--exclude-libs,"$2" -o outer.so 2>&1
  nm --dynamic --defined-only outer.so | sed -n 's/.* T //p' | tr '\n' ' '
}
for linker in bfd gold; do
  expect "$linker, with the path" "$(exported $linker archives/libinner.a)" "inner outer "
  expect "$linker, with the name" "$(exported $linker libinner.a)" "outer "
done
