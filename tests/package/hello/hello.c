// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/flotilla.h>
#include <stdio.h>

#define TRY(call) \
  if ((call) != FLOTILLA_SUCCESS) { return fprintf(stderr, "%s\n", flotilla_last_error()), 1; }

int main(void) {
  flotilla_runtime rt;
  flotilla_buffer there;
  flotilla_ticket done[2];
  flotilla_task_options after = FLOTILLA_TASK_OPTIONS_INIT;
  int const value = 7;
  int here[100];
  TRY(flotilla_runtime_create(NULL, &rt));
  TRY(flotilla_device_alloc(rt, 0, sizeof here, &there));
  TRY(flotilla_submit_fill(flotilla_in_buffer(there, 0), &value, sizeof value, 100, NULL,
                           &done[0]));
  after.after = done, after.after_count = 1;
  TRY(flotilla_submit_copy(flotilla_on_host(here), flotilla_in_buffer(there, 0), sizeof here,
                           &after, &done[1]));
  TRY(flotilla_wait_all(done, 2));
  printf("hello from device 0: %d\n", here[99]);
}
