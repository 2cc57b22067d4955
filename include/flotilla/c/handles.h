/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_HANDLES_H
#define FLOTILLA_C_HANDLES_H
/** The handles of objects. Compare their `id` to compare handles; 0 names no object. */

#include <stdint.h>

/** A runtime. flotilla_runtime_create makes it. */
typedef struct flotilla_runtime {
  uint64_t id;
} flotilla_runtime;

/** An image that is loaded on every device of a runtime. It exists until its runtime ends. */
typedef struct flotilla_program {
  uint64_t id;
} flotilla_program;

/** A kernel of a program. It exists until its runtime ends. */
typedef struct flotilla_kernel {
  uint64_t id;
} flotilla_kernel;

/** Memory of a device, or pinned memory of the host. flotilla_buffer_free frees it. */
typedef struct flotilla_buffer {
  uint64_t id;
} flotilla_buffer;

/** Tasks that can be replayed. flotilla_recording_destroy destroys it. */
typedef struct flotilla_recording {
  uint64_t id;
} flotilla_recording;

/** Connects a runtime with the ranks of a program. flotilla_cluster_destroy destroys it. */
typedef struct flotilla_cluster {
  uint64_t id;
} flotilla_cluster;

/** Orders tasks by the data that they use. flotilla_flow_destroy destroys it. */
typedef struct flotilla_flow {
  uint64_t id;
} flotilla_flow;

/** Data, a tile or a token of a flow. flotilla_data_destroy destroys it. */
typedef struct flotilla_data {
  uint64_t id;
} flotilla_data;

/** A trace of a runtime. flotilla_trace_end ends it. */
typedef struct flotilla_trace {
  uint64_t id;
} flotilla_trace;

/** A submitted task. It can outlive its runtime. flotilla_ticket_release releases it. */
typedef struct flotilla_ticket {
  uint64_t id;
} flotilla_ticket;

#endif
