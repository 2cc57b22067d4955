#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# pkgconf 3.0.7 (PyPI), and the same in pkgconf 1.8.1 (Debian 12): a .pc file links the static archives of
# `first` and `last`, and a shared library between them:
# Libs: -Wl,-Bstatic -lfirst -Wl,-Bdynamic -lmiddle -Wl,-Bstatic -llast -Wl,-Bdynamic
#
# Guess:  --libs prints the flags as the file has them. The order of linker flags has a meaning.
# Seen:   if a flag is repeated, only the last one stays, also for -Wl,-Bstatic and -Wl,-Bdynamic. Now
#         `first` is before the first -Wl,-Bstatic, and the program needs libfirst.so to start.
# The same rule makes "-lb -la" of "-la -lb -la", so GNU ld does not link archives that need each other.
. "$(dirname "$0")/lib.sh"
pip_install pkgconf==3.0.7.post0
cat > check.pc <<'CODE'
Name: check
Description: check
Version: 1
Libs: -Wl,-Bstatic -lfirst -Wl,-Bdynamic -lmiddle -Wl,-Bstatic -llast -Wl,-Bdynamic
CODE
for name in first middle last; do
  echo "int $name(void) { return 0; }" > $name.c
  gcc -fPIC -c $name.c
  ar rc lib$name.a $name.o
  gcc -shared $name.o -o lib$name.so
done
echo 'int first(), middle(), last(); int main() { return first() + middle() + last(); }' > main.c
needed() {
  gcc main.c -L. $1 -o check
  readelf -d check | sed -n 's/.*NEEDED.*\[lib\(first\|middle\|last\)\.so\]/\1/p' | tr '\n' ' '
}
flags=$(PKG_CONFIG_PATH=. venv/bin/pkgconf --libs check)
expect "--libs" "$flags" "-lfirst -lmiddle -Wl,-Bstatic -llast -Wl,-Bdynamic"
expect "shared libraries with the flags of the file" "$(needed "$(sed -n 's/Libs: //p' check.pc)")" "middle "
expect "shared libraries with the flags of pkgconf" "$(needed "$flags")" "first middle "
