/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_RECORDING_H
#define FLOTILLA_C_RECORDING_H
/** Recordings: tasks with dependencies that are described once and replayed any number of times.
 * docs/dispatch/recording.md describes what recordings do and cost. */

#include <stddef.h>

#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/memory.h>
#include <flotilla/c/status.h>
#include <flotilla/c/task.h>

FLOTILLA_C_BEGIN

/** How a task is recorded. A null pointer to options means the defaults, which are those of
 * FLOTILLA_RECORDED_OPTIONS_INIT. */
typedef struct flotilla_recorded_options {
  size_t size; /**< sizeof(flotilla_recorded_options) */
  /** FLOTILLA_ANY_DEVICE: the device of the first argument in memory of a device, or device 0 if
   * there is none; for a copy, the device of its destination or else of its source. */
  int device;
  /** The predecessors: the numbers of tasks of the same recording. */
  size_t const* after;
  size_t after_count;
} flotilla_recorded_options;

#define FLOTILLA_RECORDED_OPTIONS_INIT \
  { sizeof(flotilla_recorded_options), FLOTILLA_ANY_DEVICE, NULL, 0 }

/** How a recording is replayed. A null pointer to options means the defaults, which are those of
 * FLOTILLA_REPLAY_OPTIONS_INIT. */
typedef struct flotilla_replay_options {
  size_t size;       /**< sizeof(flotilla_replay_options) */
  int priority;      /**< as flotilla_task_options::priority */
  char const* label; /**< null, or a text for errors, which is copied */
  /** The predecessors. If one of them fails, the replay fails with FLOTILLA_DEPENDENCY_FAILED. */
  flotilla_ticket const* after;
  size_t after_count;
  /** As flotilla_task_options::timeout_ns. Only for recordings with one graph: see the comment of
   * replay_options in flotilla/task/recording.hpp. */
  uint64_t timeout_ns;
} flotilla_replay_options;

#define FLOTILLA_REPLAY_OPTIONS_INIT \
  { sizeof(flotilla_replay_options), 0, NULL, NULL, 0, 0 }

/** Makes a recording without tasks. The buffers of its tasks must exist as long as replays use them.
 * The library does not check this.
 * Threads  Any thread may replay a recording at any time. After flotilla_recording_finish, the same
 *          is true for the functions flotilla_recording_set_*. Otherwise only one thread at a time
 *          may use a recording.
 * Returns  FLOTILLA_INVALID_HANDLE, FLOTILLA_INVALID_ARGUMENT, FLOTILLA_OUT_OF_MEMORY,
 *          FLOTILLA_USED_AFTER_FORK. */
FLOTILLA_C_EXPORT flotilla_status flotilla_recording_create(flotilla_runtime rt,
                                                            flotilla_recording* made);

/** Destroys a recording. Replays that were submitted still run. Never waits. */
FLOTILLA_C_EXPORT flotilla_status flotilla_recording_destroy(flotilla_recording recording);

/* Each of the following three functions adds a task to a recording, and runs nothing. The
 * parameters are those of the function that submits such a task (task.h). Values and `options` are
 * copied. These cannot be recorded: copies from or to pageable memory of the host, copies and fills
 * of 0 bytes, and fills with a value that does not repeat a pattern of 1, 2 or 4 bytes. So a fill
 * with a double that is not 0 must be a launch.
 *
 * `task` may be null. Otherwise it gets the number of the task. The tasks of a recording are
 * numbered from 0, in the order in which they were added.
 *
 * Returns  FLOTILLA_INVALID_ARGUMENT (also if the recording is finished), FLOTILLA_INVALID_HANDLE,
 *          FLOTILLA_UNKNOWN_DEVICE, FLOTILLA_WRONG_RUNTIME, FLOTILLA_OUT_OF_MEMORY,
 *          FLOTILLA_USED_AFTER_FORK. After an error, nothing was added.
 * Blocks   never. */

FLOTILLA_C_EXPORT flotilla_status flotilla_record_launch(flotilla_recording recording,
                                                         flotilla_kernel kernel,
                                                         flotilla_shape shape,
                                                         flotilla_argument const* arguments,
                                                         size_t count,
                                                         flotilla_recorded_options const* options,
                                                         size_t* task);
FLOTILLA_C_EXPORT flotilla_status flotilla_record_copy(flotilla_recording recording,
                                                       flotilla_place to, flotilla_place from,
                                                       size_t bytes,
                                                       flotilla_recorded_options const* options,
                                                       size_t* task);
FLOTILLA_C_EXPORT flotilla_status flotilla_record_fill(flotilla_recording recording,
                                                       flotilla_place to, void const* value,
                                                       size_t value_bytes, size_t count,
                                                       flotilla_recorded_options const* options,
                                                       size_t* task);

/** Makes the CUDA graphs of a recording. Without this call, the first replay makes them. No task
 * can be added afterwards. A second call does nothing.
 * Returns  FLOTILLA_INVALID_ARGUMENT (the recording has no task, or uses several GPUs although the
 *          setting device_side_waits of one of them is false), FLOTILLA_INVALID_HANDLE, FLOTILLA_DRIVER_ERROR
 *          (the text names the task), FLOTILLA_WOULD_DEADLOCK (only inside a function of a task),
 *          FLOTILLA_RUNTIME_CLOSED, FLOTILLA_POISONED, FLOTILLA_USED_AFTER_FORK. The call can be
 *          repeated.
 * Blocks   until the threads that drive the devices have launched their current batches. */
FLOTILLA_C_EXPORT flotilla_status flotilla_recording_finish(flotilla_recording recording);

/** Submits all tasks of a recording.
 * @param ticket  Gets one ticket for all of these tasks. Must not be null.
 * Returns  FLOTILLA_INVALID_ARGUMENT, FLOTILLA_INVALID_HANDLE, FLOTILLA_WRONG_RUNTIME,
 *          FLOTILLA_OUT_OF_MEMORY, FLOTILLA_MISSING_DEPENDENCY, FLOTILLA_RUNTIME_CLOSED,
 *          FLOTILLA_POISONED, FLOTILLA_WINDOW_FULL (only inside a function of a task),
 *          FLOTILLA_USED_AFTER_FORK, and in the first replay also the errors of
 *          flotilla_recording_finish. After an error, nothing was submitted, and `ticket` names no
 *          task.
 * Errors   If a task fails, the ticket reports its error. Tasks that do not depend on it may still
 *          be running then. A failed replay does not make the next replay fail.
 * Order    Replays of one recording run one after another, in the order of the calls.
 * Blocks   only while a window is full. The first replay also blocks as flotilla_recording_finish
 *          does. */
FLOTILLA_C_EXPORT flotilla_status flotilla_recording_replay(flotilla_recording recording,
                                                            flotilla_replay_options const* options,
                                                            flotilla_ticket* ticket);

/* Each of the following three functions replaces a task for all later replays. Replays that are
 * already submitted do not change. The task keeps its device and its predecessors. It stays a
 * launch, copy or fill, and a copy keeps its direction and the device of its source.
 *
 * Returns  FLOTILLA_INVALID_ARGUMENT (also if the recording has no such task), and the errors of
 *          the function that adds such a task. After an error, the task is unchanged.
 * Blocks   never. */

FLOTILLA_C_EXPORT flotilla_status flotilla_recording_set_launch(flotilla_recording recording,
                                                                size_t task, flotilla_kernel kernel,
                                                                flotilla_shape shape,
                                                                flotilla_argument const* arguments,
                                                                size_t count);
FLOTILLA_C_EXPORT flotilla_status flotilla_recording_set_copy(flotilla_recording recording,
                                                              size_t task, flotilla_place to,
                                                              flotilla_place from, size_t bytes);
FLOTILLA_C_EXPORT flotilla_status flotilla_recording_set_fill(flotilla_recording recording,
                                                              size_t task, flotilla_place to,
                                                              void const* value, size_t value_bytes,
                                                              size_t count);

/** Returns the number of tasks in a recording. */
FLOTILLA_C_EXPORT flotilla_status flotilla_recording_size(flotilla_recording recording,
                                                          size_t* count);

FLOTILLA_C_END

#endif
