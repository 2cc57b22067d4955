#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# glibc 2.36 (Debian 12): a job script calls `ulimit -s unlimited`, as is usual for programs with large
# arrays on the stack, and starts a program with threads.
#
# Guess:  each thread may use more stack than before, as the main thread may.
# Seen:   the stack of a thread is as large as the limit: 8 MiB for the usual one. With "unlimited" it is
#         only 2 MiB. So a program that runs with the usual limit overflows the stacks of its threads with
#         the larger one. A large number, such as ulimit -s 65536, is what helps threads.
. "$(dirname "$0")/lib.sh"
cat > check.c <<'CODE'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
static void* show(void* unused) {
  pthread_attr_t attributes;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstacksize(&attributes, &size);
  printf("%zu MiB\n", size >> 20);
  return unused;
}
int main() {
  pthread_t thread;
  pthread_create(&thread, NULL, show, NULL);
  pthread_join(thread, NULL);
}
CODE
gcc check.c -o check -pthread
expect "ulimit -s unlimited" "$(ulimit -s unlimited && ./check)" "2 MiB"
expect "ulimit -s 65536" "$(ulimit -s 65536 && ./check)" "64 MiB"
expect "ulimit -s 8192" "$(ulimit -s 8192 && ./check)" "8 MiB"
