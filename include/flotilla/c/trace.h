/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_TRACE_H
#define FLOTILLA_C_TRACE_H
/** Traces: files that show what the tasks, devices and threads of a runtime did, and when.
 * docs/tracing.md says what is in them. */

#include <stddef.h>
#include <stdint.h>

#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

/** What to trace. */
typedef struct flotilla_trace_options {
  size_t size; /**< sizeof(flotilla_trace_options) */
  /** The file to write, in Perfetto's protobuf format. An existing file is replaced. Not null. */
  char const* file;
  /** One task of so many is in the trace, at least 1, on average. Batches, threads and counters are
   * always in the trace. */
  uint32_t every;
  /** The maximum size of the buffers between the threads and the writer of the trace, in bytes, at
   * least 8 MiB; 0: 128 MiB. What finds no room is not in the trace, but is counted. */
  size_t memory;
} flotilla_trace_options;

#define FLOTILLA_TRACE_OPTIONS_INIT \
  { sizeof(flotilla_trace_options), NULL, 1, 0 }

/** What is in a trace that has ended. */
typedef struct flotilla_trace_summary {
  size_t size;         /**< sizeof(flotilla_trace_summary) */
  uint64_t tasks;      /**< tasks in the trace that have ended */
  uint64_t dropped;    /**< events that found no room in the buffers */
  uint64_t unfinished; /**< chosen tasks that had not ended; most of them are drawn, too */
  uint64_t bytes;      /**< size of the file */
} flotilla_trace_summary;

#define FLOTILLA_TRACE_SUMMARY_INIT \
  { sizeof(flotilla_trace_summary), 0, 0, 0, 0 }

/** Begins a trace of a runtime. A runtime has one trace at a time. A runtime cannot be destroyed
 * while its trace exists.
 * @return FLOTILLA_TRACE_FAILED  The file cannot be opened, or the runtime already has a trace, also
 *                                one by the environment variable FLOTILLA_TRACE.
 *         FLOTILLA_INVALID_ARGUMENT, FLOTILLA_INVALID_HANDLE, FLOTILLA_OUT_OF_MEMORY,
 *         FLOTILLA_USED_AFTER_FORK */
FLOTILLA_C_EXPORT flotilla_status flotilla_trace_begin(flotilla_runtime rt,
                                                       flotilla_trace_options const* options,
                                                       flotilla_trace* made);

/** Ends a trace, and waits until its file is complete. The handle names no trace afterwards, also
 * after an error.
 * @param summary  Null, or gets what is in the trace.
 * @return FLOTILLA_TRACE_FAILED  The file could not be written. The tasks are not affected.
 *         FLOTILLA_INVALID_ARGUMENT, FLOTILLA_INVALID_HANDLE  The trace was not ended.
 *         FLOTILLA_USED_AFTER_FORK */
FLOTILLA_C_EXPORT flotilla_status flotilla_trace_end(flotilla_trace trace,
                                                     flotilla_trace_summary* summary);

FLOTILLA_C_END

#endif
