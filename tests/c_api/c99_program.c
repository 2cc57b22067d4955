// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A program in C99: prints the devices, and copies, fills and reads memory of each device.

#include <stdio.h>
#include <string.h>

#include <flotilla/flotilla.h>

#define CHECK(call)                                                         \
  do {                                                                      \
    flotilla_status const result_ = (call);                                 \
    if (result_ != FLOTILLA_SUCCESS) {                                      \
      fprintf(stderr, "%s: %s: %s\n", #call, flotilla_status_name(result_), \
              flotilla_last_error());                                       \
      return 1;                                                             \
    }                                                                       \
  } while (0)

enum { count = 1000 };

static int triple(void* user, flotilla_task_context const* context) {
  *(unsigned*)user = 3 * context->device;
  return 0;
}

static int use_device(flotilla_runtime rt, unsigned device) {
  unsigned sent[count], received[count], tripled = 99;
  unsigned const seven = 7;
  flotilla_device_info info = FLOTILLA_DEVICE_INFO_INIT;
  flotilla_task_options after = FLOTILLA_TASK_OPTIONS_INIT;
  flotilla_task_options here = FLOTILLA_TASK_OPTIONS_INIT;
  flotilla_buffer memory;
  flotilla_ticket tickets[4];

  CHECK(flotilla_get_device(rt, device, &info));
  printf("device %u: %s, %s\n", device, info.name, info.kind == FLOTILLA_CPU ? "CPU" : "GPU");
  for (unsigned i = 0; i < count; ++i) { sent[i] = i; }
  memset(received, 0, sizeof received);

  CHECK(flotilla_device_alloc(rt, device, sizeof sent, &memory));
  CHECK(flotilla_submit_copy(flotilla_in_buffer(memory, 0), flotilla_on_host(sent), sizeof sent,
                             NULL, &tickets[0]));
  after.after = &tickets[0];
  after.after_count = 1;
  CHECK(flotilla_submit_fill(flotilla_in_buffer(memory, 10 * sizeof seven), &seven, sizeof seven, 5,
                             &after, &tickets[1]));
  after.after = &tickets[1];
  CHECK(flotilla_submit_copy(flotilla_on_host(received), flotilla_in_buffer(memory, 0), sizeof sent,
                             &after, &tickets[2]));
  here.device = (int)device;
  CHECK(flotilla_submit_function(rt, triple, &tripled, NULL, &here, &tickets[3]));
  CHECK(flotilla_wait_all(tickets, 4));
  for (unsigned i = 0; i < 4; ++i) { CHECK(flotilla_ticket_release(tickets[i])); }
  CHECK(flotilla_buffer_free(memory));

  for (unsigned i = 0; i < count; ++i) {
    unsigned const expected = i >= 10 && i < 15 ? seven : i;
    if (received[i] != expected) {
      fprintf(stderr, "element %u is %u, but should be %u\n", i, received[i], expected);
      return 1;
    }
  }
  if (tripled != 3 * device) {
    fprintf(stderr, "the function did not run on device %u\n", device);
    return 1;
  }
  return 0;
}

int main(void) {
  flotilla_runtime_options options = FLOTILLA_RUNTIME_OPTIONS_INIT;
  flotilla_runtime rt;
  unsigned devices = 0;

  options.devices = "cpu:2";
  CHECK(flotilla_runtime_create(&options, &rt));
  CHECK(flotilla_device_count(rt, &devices));
  for (unsigned device = 0; device < devices; ++device) {
    if (use_device(rt, device) != 0) { return 1; }
  }
  CHECK(flotilla_runtime_destroy(rt));
  if (flotilla_wait_idle(rt) != FLOTILLA_INVALID_HANDLE) {
    fprintf(stderr, "the handle of the destroyed runtime is still valid\n");
    return 1;
  }
  printf("everything is right\n");
  return 0;
}
