/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_TASK_H
#define FLOTILLA_C_TASK_H
/** Tasks: launches of kernels, copies, fills, and functions of the program. */

#include <stddef.h>
#include <stdint.h>

#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/memory.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

enum { FLOTILLA_ANY_DEVICE = -1, FLOTILLA_ANY_RANK = -1 };

/** How a task runs. A null pointer to options means the defaults, which are those of
 * FLOTILLA_TASK_OPTIONS_INIT. */
typedef struct flotilla_task_options {
  size_t size; /**< sizeof(flotilla_task_options) */
  /** FLOTILLA_ANY_DEVICE: the device of the first argument in memory of a device; for a copy, the
   * device of its destination or else of its source; otherwise a device that the runtime
   * chooses. */
  int device;
  /** As for cuStreamCreateWithPriority: a lower number is more urgent, and 0 is the least
   * urgent. */
  int priority;
  char const* label; /**< null, or a text for errors, which is copied */
  /** The predecessors. A launch, copy or fill begins after these tasks have ended. A function may
   * be called earlier, but the work that it enqueues into its stream waits for them. If one of them
   * fails, the task fails with FLOTILLA_DEPENDENCY_FAILED. */
  flotilla_ticket const* after;
  size_t after_count;
  /** More predecessors, whose failure does not matter. */
  flotilla_ticket const* after_end;
  size_t after_end_count;
  /** Not 0: the task shares no batch with other tasks. Use it for a small copy for which a kernel
   * that fills the device waits: then a copy engine executes the copy. */
  int alone;
  /** In nanoseconds from the call; 0: no limit. If the task has not begun by then, it ends with
   * FLOTILLA_TIMED_OUT and never runs, even if a predecessor or the device is still busy. A task
   * that has begun runs to its end. A bulk: of each item, or of each group of items that is
   * launched together. */
  uint64_t timeout_ns;
  /** Not 0: the task may run again after it has run in part. If the isolated device of the task is
   * lost, the task runs again and does not fail with FLOTILLA_DEVICE_FAULT, but only once. */
  int repeatable;
  /** The rank that runs the task, if its flow runs over several ranks. FLOTILLA_ANY_RANK: it follows
   * from the data of the task (flotilla_cluster_create). Other tasks may only name rank 0. */
  int rank;
} flotilla_task_options;

#define FLOTILLA_TASK_OPTIONS_INIT                                                          \
  {                                                                                         \
    sizeof(flotilla_task_options), FLOTILLA_ANY_DEVICE, 0, NULL, NULL, 0, NULL, 0, 0, 0, 0, \
        FLOTILLA_ANY_RANK                                                                   \
  }

/** The grid and the blocks of a launch. */
typedef struct flotilla_shape {
  uint32_t grid[3];  /**< blocks in x, y and z */
  uint32_t block[3]; /**< threads of a block in x, y and z */
  uint32_t dynamic_shared_bytes;
} flotilla_shape;

/** Returns the shape of a grid with at least `threads` threads in blocks of `block` threads. If one
 * of them is 0, the grid is empty, and no function accepts it. */
static inline flotilla_shape flotilla_over(uint32_t threads, uint32_t block) {
  flotilla_shape shape = {{0, 1, 1}, {0, 1, 1}, 0};
  shape.grid[0] = block == 0 ? 0 : threads / block + (threads % block != 0);
  shape.block[0] = block;
  return shape;
}

/** An argument of a launch: a value, which is copied, or the address of a place in a buffer. The
 * buffer may be pinned memory. */
typedef struct flotilla_argument {
  void const* value; /**< null: `place` is the argument */
  /** The size of the value. Of a place: how many bytes the kernel uses there. Only FLOTILLA_CHECK
   * needs this. 0: all bytes up to the end of the buffer, or if the place has a stride, `stride`
   * bytes. */
  size_t bytes;
  /** For flotilla_submit_bulk: the distance in bytes between the values, or the places, of two
   * items. 0: all items have the same. */
  size_t stride;
  flotilla_place place; /**< must be in a buffer */
} flotilla_argument;

/** Returns an argument whose value is the `bytes` bytes at `value`. */
static inline flotilla_argument flotilla_value(void const* value, size_t bytes) {
  flotilla_argument made;
  made.value = value;
  made.bytes = bytes;
  made.stride = 0;
  made.place = flotilla_on_host(NULL);
  return made;
}

/** The argument for a variable: FLOTILLA_VALUE(count). */
#define FLOTILLA_VALUE(variable) flotilla_value(&(variable), sizeof(variable))

/** Returns an argument that is the address of a place in a buffer. The launch runs on the device of
 * the buffer unless the options name one. */
static inline flotilla_argument flotilla_address(flotilla_buffer buffer, size_t offset) {
  flotilla_argument made;
  made.value = NULL;
  made.bytes = 0;
  made.stride = 0;
  made.place = flotilla_in_buffer(buffer, offset);
  return made;
}

/* Each of the following functions submits a task. The call does not launch the task: the thread
 * that drives the device launches it later.
 *
 * `ticket` gets the ticket of the task. If it is null, the task is posted: its failure is printed
 * on stderr, and only flotilla_wait_idle and flotilla_runtime_destroy wait for it.
 *
 * Returns  FLOTILLA_INVALID_ARGUMENT, FLOTILLA_INVALID_HANDLE (also for a ticket or an argument),
 *          FLOTILLA_UNKNOWN_DEVICE, FLOTILLA_WRONG_RUNTIME, FLOTILLA_OUT_OF_MEMORY,
 *          FLOTILLA_MISSING_DEPENDENCY, FLOTILLA_RUNTIME_CLOSED, FLOTILLA_POISONED,
 *          FLOTILLA_WINDOW_FULL (only inside a function of a task), FLOTILLA_USED_AFTER_FORK.
 *          After an error, nothing was submitted, and `ticket` names no task.
 * Order    Tasks have no order except by `after` and `after_end`.
 * Blocks   only while the window of the device is full. */

/** Submits a launch of a kernel.
 * @param arguments  As many as the kernel has parameters, in their order. The size of each must be
 *                   that of its parameter; the types cannot be checked. */
FLOTILLA_C_EXPORT flotilla_status flotilla_submit_launch(
    flotilla_kernel kernel, flotilla_shape shape, flotilla_argument const* arguments, size_t count,
    flotilla_task_options const* options, flotilla_ticket* ticket);

/** Submits `items` launches of a kernel, which may run in parallel and on several devices, with one
 * ticket. The options apply to each item. Argument i of item k is the value at
 * `arguments[i].value` + k * `arguments[i].stride`, or the place as many bytes behind
 * `arguments[i].place`. The values are copied. The ticket is ready when all items have ended; without items, at once. If items fail,
 * the ticket reports FLOTILLA_BULK_FAILED with the smallest index; without a ticket, the first
 * failure is printed.
 * @return FLOTILLA_BULK_FAILED  An item was refused. The items before it run. */
FLOTILLA_C_EXPORT flotilla_status flotilla_submit_bulk(flotilla_kernel kernel, flotilla_shape shape,
                                                       flotilla_argument const* arguments,
                                                       size_t count, size_t items,
                                                       flotilla_task_options const* options,
                                                       flotilla_ticket* ticket);

/** Submits a copy of `bytes` bytes. At least one place must be in memory of a device. Memory of the
 * program must stay until the task has ended. */
FLOTILLA_C_EXPORT flotilla_status flotilla_submit_copy(flotilla_place to, flotilla_place from,
                                                       size_t bytes,
                                                       flotilla_task_options const* options,
                                                       flotilla_ticket* ticket);

/** Submits a fill: writes the `value_bytes` bytes at `value`, which are copied, `count` times to
 * memory of a device.
 * @return FLOTILLA_INVALID_ARGUMENT  Also if the shortest pattern that makes up the value has more
 *                                    than 64 bytes. */
FLOTILLA_C_EXPORT flotilla_status flotilla_submit_fill(flotilla_place to, void const* value,
                                                       size_t value_bytes, size_t count,
                                                       flotilla_task_options const* options,
                                                       flotilla_ticket* ticket);

/** What the function of a task gets. The struct and its pointers are valid during the call. */
typedef struct flotilla_task_context {
  size_t size;     /**< sizeof(flotilla_task_context) */
  unsigned device; /**< the ordinal of the device */
  /** The CUcontext of the device, which is current during the call. Null if the device is isolated,
   * because its context is in another process. */
  void* context;
  /** A CUstream. The task ends when the work that the function enqueues into it has ended. Null if
   * the device is isolated. */
  void* stream;
} flotilla_task_context;

/** A function of a task. If the result is not 0, the task fails with FLOTILLA_TASK_FAILED and this
 * result as its code. A C++ exception also makes the task fail. */
typedef int (*flotilla_function)(void* user, flotilla_task_context const* context);

/** Submits a function of the program. A worker, or a thread that waits or pumps, calls it while the
 * context of the device is current.
 * @param destroy  Null, or called once with `user` after the function was called, or when it is
 *                 certain that it will not be called: if the task is cancelled or a predecessor
 *                 fails, by a thread that drives the device; if this call returns an error, by
 *                 this call. It must not throw. */
FLOTILLA_C_EXPORT flotilla_status flotilla_submit_function(flotilla_runtime rt,
                                                           flotilla_function function, void* user,
                                                           void (*destroy)(void* user),
                                                           flotilla_task_options const* options,
                                                           flotilla_ticket* ticket);

FLOTILLA_C_END

#endif
