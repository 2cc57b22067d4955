#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# glibc 2.36 and gcc 12.2 (Debian 12): two plugins each have a `thread_local` buffer of 1 KiB, and are
# compiled with -ftls-model=initial-exec, the fastest access to such variables.
#
# Guess:  a plugin that can be linked can also be opened with dlopen, as long as there is memory.
# Seen:   a linked program runs, and each plugin alone can be opened. The second one that a process opens
#         is refused: "cannot allocate memory in static TLS block". All libraries that are opened later
#         share about 1.6 KiB for this. The tunable glibc.rtld.optional_static_tls makes it larger.
# So a plugin works in its own tests, and fails in a program that has opened another library before it.
. "$(dirname "$0")/lib.sh"
cat > plugin.c <<'CODE'
static __thread char buffer[1024];
char* NAME(void) { return buffer; }
CODE
cat > open.c <<'CODE'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int count, char** names) {
  for (int i = 1; i < count; ++i) {
    printf("%s ", dlopen(names[i], RTLD_NOW) ? "opened" : strchr(dlerror(), ' ') + 1);
  }
}
CODE
echo 'char *one(void), *two(void); int main() { return *one() + *two(); }' > linked.c
for name in one two; do
  gcc -shared -fPIC -ftls-model=initial-exec -DNAME=$name plugin.c -o $name.so
done
gcc open.c -o open
gcc linked.c ./one.so ./two.so -o linked
expect "status of a program that is linked with both" "$(./linked; echo $?)" 0
expect "dlopen of one" "$(./open ./one.so)" "opened "
expect "dlopen of two" "$(./open ./two.so)" "opened "
expect "dlopen of both" "$(./open ./one.so ./two.so)" \
  "opened cannot allocate memory in static TLS block "
expect "with the tunable" "$(GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 ./open ./one.so ./two.so)" \
  "opened opened "
