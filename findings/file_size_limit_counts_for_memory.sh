#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Linux with glibc 2.36 (Debian 12): a process with a limit for the size of files (ulimit -f, as batch
# systems set it) makes shared memory of 1 MiB with memfd_create and ftruncate.
#
# Guess:  the limit is for files on disks, so it does not count for memory.
# Seen:   ftruncate fails with EFBIG, and sends SIGXFSZ, which ends a process that does not handle it. With
#         the same limit, mmap of shared anonymous memory and shmget succeed.
# So a program that only uses memory is ended by a limit for files, far from any file.
. "$(dirname "$0")/lib.sh"
cat > check.c <<'CODE'
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>
enum { size = 1 << 20 };
static volatile sig_atomic_t signals;
static void count(int signal) { signals += signal == SIGXFSZ; }
int main() {
  struct rlimit limit = {64 << 10, 64 << 10};
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, count);
  int failed = ftruncate(memfd_create("check", 0), size);
  printf("%s, %d signal; ", failed && errno == EFBIG ? "EFBIG" : "other", (int)signals);
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int segment = shmget(IPC_PRIVATE, size, 0600);
  if (segment >= 0) { shmctl(segment, IPC_RMID, NULL); }
  printf("mmap %s, ", memory != MAP_FAILED ? "succeeds" : "fails");
  printf("shmget %s\n", segment >= 0 ? "succeeds" : "fails");
}
CODE
gcc check.c -o check
expect "ftruncate, and others" "$(./check)" "EFBIG, 1 signal; mmap succeeds, shmget succeeds"
