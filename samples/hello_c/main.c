// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes y = 2 x + y on every device of this machine, and checks each answer.
#include <stdio.h>

#include <flotilla/flotilla.h>

#include "hello_c_kernels.h"  // made from saxpy.cu by flotilla_add_kernels()

#define CHECK(call) \
  if ((call) != FLOTILLA_SUCCESS) { return fprintf(stderr, "%s\n", flotilla_last_error()), 1; }

enum { n = 1 << 20 };
static float result[n];

static int run(flotilla_runtime rt, flotilla_kernel saxpy, unsigned device) {
  float const one = 1, a = 2;
  int const count = n;
  size_t const bytes = n * sizeof one;
  flotilla_buffer x, y;
  CHECK(flotilla_device_alloc(rt, device, bytes, &x));
  CHECK(flotilla_device_alloc(rt, device, bytes, &y));

  flotilla_ticket done[4];  // two fills, the kernel, and the copy
  CHECK(flotilla_submit_fill(flotilla_in_buffer(x, 0), &one, sizeof one, n, NULL, &done[0]));
  CHECK(flotilla_submit_fill(flotilla_in_buffer(y, 0), &one, sizeof one, n, NULL, &done[1]));
  flotilla_task_options after = FLOTILLA_TASK_OPTIONS_INIT;
  after.after = done;
  after.after_count = 2;
  flotilla_argument const arguments[] = {FLOTILLA_VALUE(a), flotilla_address(x, 0),
                                         flotilla_address(y, 0), FLOTILLA_VALUE(count)};
  CHECK(flotilla_submit_launch(saxpy, flotilla_over(n, 256), arguments, 4, &after, &done[2]));
  after.after_count = 3;
  CHECK(flotilla_submit_copy(flotilla_on_host(result), flotilla_in_buffer(y, 0), bytes, &after,
                             &done[3]));
  CHECK(flotilla_wait_all(done, 4));  // returns the error if a task failed

  int right = 0;
  for (int i = 0; i < n; ++i) { right += result[i] == 3; }
  flotilla_device_info info = FLOTILLA_DEVICE_INFO_INIT;
  CHECK(flotilla_get_device(rt, device, &info));
  printf("device %u, %s: %d of %d right\n", device, info.name, right, n);

  for (int i = 0; i < 4; ++i) { CHECK(flotilla_ticket_release(done[i])); }
  CHECK(flotilla_buffer_free(x));
  CHECK(flotilla_buffer_free(y));
  return right == n ? 0 : 1;
}

int main(void) {
  flotilla_runtime rt;
  flotilla_program program;
  flotilla_kernel saxpy;
  unsigned devices = 0;
  int failed = 0;
  CHECK(flotilla_runtime_create(NULL, &rt));  // all GPUs, or CPU devices if there is no GPU
  CHECK(flotilla_program_load(rt, &hello_c_kernels_for_c, &program));
  CHECK(flotilla_program_kernel(program, "saxpy", &saxpy));
  CHECK(flotilla_device_count(rt, &devices));
  for (unsigned device = 0; device < devices; ++device) { failed |= run(rt, saxpy, device); }
  CHECK(flotilla_runtime_destroy(rt));
  return failed;
}
