#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# glibc 2.36 and gcc 12.2 (Debian 12): a plugin and a program each need libdep.so, which is in their own
# folder: their run path is $ORIGIN. Another folder has symbolic links to the plugin and to the program.
#
# Guess:  $ORIGIN is the folder of the file, so both work through their links.
# Seen:   the program starts. dlopen of the link to the plugin fails: $ORIGIN of a library is the folder of
#         the link, and libdep.so is not there.
# So a folder of links to plugins, as module systems and package managers make it, works for programs only.
. "$(dirname "$0")/lib.sh"
mkdir files links
echo 'int dep(void) { return 0; }' > dep.c
echo 'int dep(void); int main(void) { return dep(); }' > program.c
echo 'int dep(void); int plugin(void) { return dep(); }' > plugin.c
cat > open.c <<'CODE'
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** names) { puts(count == 2 && dlopen(names[1], RTLD_NOW) ? "opened" : dlerror()); }
CODE
gcc open.c -o open
gcc -shared -fPIC dep.c -o files/libdep.so
gcc -shared -fPIC plugin.c -o files/plugin.so -Lfiles -ldep -Wl,-rpath,'$ORIGIN'
gcc program.c -o files/program -Lfiles -ldep -Wl,-rpath,'$ORIGIN'
ln -s ../files/plugin.so ../files/program links
expect "status of the program, through its link" "$(links/program; echo $?)" 0
expect "the plugin" "$(./open files/plugin.so)" "opened"
expect "the plugin, through its link" "$(./open links/plugin.so)" \
  "libdep.so: cannot open shared object file: No such file or directory"
