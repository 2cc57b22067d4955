/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_FLOW_H
#define FLOTILLA_C_FLOW_H
/** Tasks of a flow: the flow orders them by the data that they use, and copies the data to where the
 * tasks run. */

#include <stddef.h>

#include <flotilla/c/data.h>
#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/status.h>
#include <flotilla/c/task.h>

FLOTILLA_C_BEGIN

/** How a task uses data. */
typedef enum flotilla_access {
  FLOTILLA_ACCESS_READ = 0,
  /** The task writes all of the data and does not read them. */
  FLOTILLA_ACCESS_WRITE = 1,
  /** The task reads and writes the data, or writes a part of them. */
  FLOTILLA_ACCESS_UPDATE = 2,
  /** As FLOTILLA_ACCESS_UPDATE, but the order of such tasks does not matter. They never run at the same
   * time. */
  FLOTILLA_ACCESS_COMMUTE = 3,
  /** The task combines its contribution into a partial result. See flotilla_reduction. */
  FLOTILLA_ACCESS_REDUCE = 4
} flotilla_access;

/** An operation that combines partial results. It must be associative and commutative. Uses with the
 * same operation point to the same struct, which must exist and not change until the runtime was
 * destroyed. */
typedef struct flotilla_reduction {
  size_t size;          /**< sizeof(flotilla_reduction) */
  void const* identity; /**< one object; the partial results begin with it. At most 64 bytes. */
  /** For each i < count: to[i] = op(to[i], from[i]). It must not fail. Threads of flotilla call
   * it. */
  void (*combine)(void* to, void const* from, size_t count);
} flotilla_reduction;

#define FLOTILLA_REDUCTION_INIT \
  { sizeof(flotilla_reduction), NULL, NULL }

/** A use of data by a task, or another argument of a launch. */
typedef struct flotilla_use {
  flotilla_data data;                  /**< its id is 0: `argument` is the argument */
  int access;                          /**< a flotilla_access */
  flotilla_reduction const* reduction; /**< if `access` is FLOTILLA_ACCESS_REDUCE; else null */
  flotilla_argument argument;          /**< ignored if `data` names data */
} flotilla_use;

/** Returns a use of data. */
static inline flotilla_use flotilla_use_of(flotilla_data data, int access) {
  flotilla_use made;
  made.data = data;
  made.access = access;
  made.reduction = NULL;
  made.argument = flotilla_value(NULL, 0);
  return made;
}
static inline flotilla_use flotilla_read(flotilla_data data) {
  return flotilla_use_of(data, FLOTILLA_ACCESS_READ);
}
static inline flotilla_use flotilla_write(flotilla_data data) {
  return flotilla_use_of(data, FLOTILLA_ACCESS_WRITE);
}
static inline flotilla_use flotilla_update(flotilla_data data) {
  return flotilla_use_of(data, FLOTILLA_ACCESS_UPDATE);
}
static inline flotilla_use flotilla_commute(flotilla_data data) {
  return flotilla_use_of(data, FLOTILLA_ACCESS_COMMUTE);
}
static inline flotilla_use flotilla_reduce(flotilla_data data, flotilla_reduction const* with) {
  flotilla_use made = flotilla_use_of(data, FLOTILLA_ACCESS_REDUCE);
  made.reduction = with;
  return made;
}

/** Returns an argument of a launch that is not a use of data:
 * flotilla_plain(FLOTILLA_VALUE(count)). */
static inline flotilla_use flotilla_plain(flotilla_argument argument) {
  flotilla_data const none = {0};
  flotilla_use made = flotilla_use_of(none, FLOTILLA_ACCESS_READ);
  made.argument = argument;
  return made;
}

/* Each of the following functions submits a task to a flow. The flow orders the calls from all
 * threads, one after the other. A task runs as if all earlier tasks of the flow had run one after
 * the other in this order. `after` and `after_end` of the options add predecessors. If the options
 * name no device, the flow chooses one.
 *
 * `ticket` gets the ticket of the task. If it is null, the task is posted, as in task.h.
 *
 * Returns  the errors of flotilla_submit_launch, and
 *          FLOTILLA_INVALID_ARGUMENT   The data have no contents, have tiles, or belong to another
 *                                      flow, or a task has two uses of them.
 *          FLOTILLA_DRIVER_ERROR       The device has no memory for the data (only inside a function
 *                                      of a task).
 *          After an error, nothing was submitted, and `ticket` names no task.
 * Blocks   while the window of the device is full, and while the device has no memory for the data.
 *          flow::submit in <flotilla/data/flow.hpp> says more. */

/** Submits a launch of a kernel.
 * @param arguments  As many as the kernel has parameters. The parameter for a use of data is a
 *                   pointer to the first object, or a flotilla::view of the same rank. At most 16
 *                   are uses of data. */
FLOTILLA_C_EXPORT flotilla_status flotilla_flow_submit_launch(
    flotilla_flow flow, flotilla_kernel kernel, flotilla_shape shape, flotilla_use const* arguments,
    size_t count, flotilla_task_options const* options, flotilla_ticket* ticket);

/** A function of a task that uses data.
 * @param context  As for a flotilla_function. Null in a host task.
 * @param views    Where the data are: one view for each use, in their order. The rank of the view of
 *                 a token is 0. In a host task, they are in memory of the host; otherwise the
 *                 function must use them only in work that it enqueues into its stream. */
typedef int (*flotilla_flow_function)(void* user, flotilla_task_context const* context,
                                      flotilla_view const* views);

/** Submits a function of the program that enqueues work of a device. See flotilla_submit_function.
 * @param uses  At most 16 uses of data or tokens. */
FLOTILLA_C_EXPORT flotilla_status
flotilla_flow_submit_function(flotilla_flow flow, flotilla_flow_function function, void* user,
                              void (*destroy)(void* user), flotilla_use const* uses, size_t count,
                              flotilla_task_options const* options, flotilla_ticket* ticket);

/** Submits a function of the program that works on the host. No context is current in it, and it may
 * block. It runs on a thread for continuations, or in single-threaded mode on a thread that waits or
 * pumps. */
FLOTILLA_C_EXPORT flotilla_status flotilla_flow_submit_host(flotilla_flow flow,
                                                            flotilla_flow_function function,
                                                            void* user, void (*destroy)(void* user),
                                                            flotilla_use const* uses, size_t count,
                                                            flotilla_task_options const* options,
                                                            flotilla_ticket* ticket);

/** Submits the tasks of an iteration `count` times. The flow calls `iteration` a few times; if it
 * submits the same tasks each time, the flow replays a recording of them instead of the other calls.
 * So `iteration` must submit the same tasks each time, post them (with a null ticket), and do nothing
 * else. flow::repeat in <flotilla/data/flow.hpp> says what cannot be recorded.
 * @param iteration  If its result is not 0, no further iteration is submitted.
 * @return FLOTILLA_TASK_FAILED  `iteration` returned another number than 0, which is the code of the
 *                               error. The iterations before it remain. */
FLOTILLA_C_EXPORT flotilla_status flotilla_flow_repeat(flotilla_flow flow, size_t count,
                                                       int (*iteration)(void* user), void* user);
/** Repeats an iteration as flotilla_flow_repeat does, at most `most` times, while a condition holds.
 * After every `check_every` iterations, the call waits for the value and calls `goes_on` on the same
 * thread. flow::repeat_while in <flotilla/data/flow.hpp> says more.
 * @param value        The data that `goes_on` gets, on the host. The view is valid during the call.
 * @param goes_on      Returns 0 to end the loop.
 * @param user         The first argument of `goes_on` and of `iteration`.
 * @param most         At least 1. SIZE_MAX: no limit.
 * @param check_every  At least 1. 16 suits most loops. The loop may do up to check_every - 1
 *                     iterations more than necessary.
 * @param count        Receives the number of iterations, if it is not null and the call succeeds.
 * @return FLOTILLA_TASK_FAILED        As for flotilla_flow_repeat.
 *         FLOTILLA_INVALID_ARGUMENT   A number is 0, `value` is a token or belongs to another flow, or
 *                                     the flow runs over several ranks.
 *         FLOTILLA_DEPENDENCY_FAILED  The value is lost, because a task of the loop failed. */
FLOTILLA_C_EXPORT flotilla_status flotilla_flow_repeat_while(
    flotilla_flow flow, flotilla_data value, int (*goes_on)(void* user, flotilla_view const* value),
    int (*iteration)(void* user), void* user, size_t most, size_t check_every, size_t* count);

FLOTILLA_C_END

#endif
