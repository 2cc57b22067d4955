/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_RUNTIME_H
#define FLOTILLA_C_RUNTIME_H
/** Runtimes. A runtime has one floating context for each device, and threads that drive the
 * devices. */

#include <stddef.h>
#include <stdint.h>

#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

enum { FLOTILLA_AUTOMATIC = -1 };

/** The options of a runtime. FLOTILLA_RUNTIME_OPTIONS_INIT has the defaults. The comments of
 * flotilla::runtime_options in <flotilla/runtime.hpp> have the details. */
typedef struct flotilla_runtime_options {
  size_t size; /**< sizeof(flotilla_runtime_options) */
  /** The devices, such as "auto", "cuda:0,2" or "cpu:4". Null: the environment variable
   * FLOTILLA_DEVICES, or else "auto": all GPUs, or CPU devices if there is no GPU. */
  char const* devices;
  /** The maximum number of threads that drive devices. 0: single-threaded mode, in which tasks make
   * progress only inside flotilla_pump and waits. FLOTILLA_AUTOMATIC: one for each device, but at
   * most cores - 1. */
  int workers;
  /** Not 0: the runtime is made even if the driver refuses a setting. */
  int best_effort;
  /** The maximum number of open tasks of one device, 64 to 65000. 0: the setting "window". */
  size_t window;
  /** Settings of the devices, in the form of the environment variable FLOTILLA_SETTINGS, such as
   * "schedule=spin,1:cache=l1" (docs/settings.md). Null: none. They override the settings of the
   * environment. */
  char const* settings;
  /** If launched work does not end for so many nanoseconds, the device is stuck
   * (flotilla_get_health). The worker process of an isolated device is then ended and replaced. 0:
   * the setting "stuck_after" applies, whose default is never. Rounded up to milliseconds. */
  uint64_t stuck_after_ns;
} flotilla_runtime_options;

#define FLOTILLA_RUNTIME_OPTIONS_INIT \
  { sizeof(flotilla_runtime_options), NULL, FLOTILLA_AUTOMATIC, 0, 0, NULL, 0 }

/** Makes a runtime. Make one early and keep it: a context on a GPU costs about 0.1 s.
 * @param options  Null: the defaults. The runtime copies the strings.
 * @param made     Gets the runtime. After an error, it gets a handle that names no object.
 * @return FLOTILLA_NO_DEVICE, FLOTILLA_UNKNOWN_DEVICE, FLOTILLA_UNKNOWN_SETTING,
 *         FLOTILLA_INVALID_ARGUMENT, FLOTILLA_DRIVER_ERROR, FLOTILLA_USED_AFTER_FORK */
FLOTILLA_C_EXPORT flotilla_status flotilla_runtime_create(flotilla_runtime_options const* options,
                                                          flotilla_runtime* made);

/** Waits until all tasks have ended and all continuations have run, and destroys the runtime with
 * its programs and kernels. Tickets stay valid.
 * If the runtime is poisoned, the call does not wait.
 * @return FLOTILLA_STILL_USED      Its buffers, recordings, flows, data, clusters or traces exist. This is checked
 *                                  before the wait, and again after it, because functions of tasks
 *                                  may make such objects meanwhile.
 *         FLOTILLA_INVALID_HANDLE  The runtime does not exist, or another call is destroying it.
 *         FLOTILLA_WOULD_DEADLOCK  The caller is inside a function of a task or a continuation.
 *         FLOTILLA_USED_AFTER_FORK
 *         After an error, the runtime exists as before. */
FLOTILLA_C_EXPORT flotilla_status flotilla_runtime_destroy(flotilla_runtime rt);

/** Makes the runtime refuse new tasks. Submitted tasks still run. The call does not wait. */
FLOTILLA_C_EXPORT flotilla_status flotilla_runtime_close(flotilla_runtime rt);

/** Makes one bounded pass over all devices that no other thread drives: launches waiting tasks and
 * retires ended tasks. In single-threaded mode, continuations run inside the call too.
 * @param open  Null, or gets 1 if a task has not ended or a continuation has not begun, otherwise
 *              0.
 *
 * Blocks: never, but functions of tasks run inside the call. */
FLOTILLA_C_EXPORT flotilla_status flotilla_pump(flotilla_runtime rt, int* open);

/** Waits until no task and no continuation is open. Errors of tasks are not reported here; tickets
 * report them.
 * @return FLOTILLA_WOULD_DEADLOCK  The caller is inside a function of a task or a continuation. */
FLOTILLA_C_EXPORT flotilla_status flotilla_wait_idle(flotilla_runtime rt);

/** Writes the output of printf in kernels to the standard output.
 * Blocks: until the launched work of every device is done. */
FLOTILLA_C_EXPORT flotilla_status flotilla_flush_printf(flotilla_runtime rt);

/** Gets a line of text: the driver in use, and why the other driver is not used. The text is valid
 * until the runtime ends. */
FLOTILLA_C_EXPORT flotilla_status flotilla_driver_text(flotilla_runtime rt, char const** text);

FLOTILLA_C_END

#endif
