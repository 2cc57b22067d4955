#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# lld 14.0.6, and GNU ld and gold of binutils 2.40 (Debian 12): objects of a program put entries into the
# section `plugins`, with __attribute__((used)). A loop from __start_plugins to __stop_plugins visits them.
# The program is linked with --gc-sections.
#
# Guess:  the linkers keep the entries, because a use of __start_plugins is a use of the section.
# Seen:   GNU ld and gold keep both. lld drops them without a word, and with weak __start_plugins the loop
#         visits nothing. The option -z nostart-stop-gc, or the attribute `retain`, brings them back.
# So a program with another linker starts without its plugins, tests or backends.
. "$(dirname "$0")/lib.sh"
version=14.0.6-12
unpack_debian lld-14=1:$version libllvm14=1:$version
export LD_LIBRARY_PATH="$work/root/usr/lib/llvm-14/lib:$work/root/usr/lib/$(gcc -print-multiarch)"
cat > one.c <<'CODE'
__attribute__((section("plugins"), used)) static const char* one = "one";
CODE
cat > main.c <<'CODE'
#include <stdio.h>
extern const char* __start_plugins[] __attribute__((weak));
extern const char* __stop_plugins[] __attribute__((weak));
__attribute__((section("plugins"), used)) static const char* two = "two";
int main() {
  int count = 0;
  for (const char** each = __start_plugins; each != __stop_plugins; ++each) { ++count; }
  printf("%d\n", count);
}
CODE
visited() {
  gcc -Broot/usr/lib/llvm-14/bin -fuse-ld="$1" -Wl,--gc-sections $2 main.c one.c -o check
  ./check
}
expect "GNU ld" "$(visited bfd "")" 2
expect "gold" "$(visited gold "")" 2
expect "lld" "$(visited lld "")" 0
expect "lld -z nostart-stop-gc" "$(visited lld -Wl,-z,nostart-stop-gc)" 2
