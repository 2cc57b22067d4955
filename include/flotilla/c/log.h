/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_LOG_H
#define FLOTILLA_C_LOG_H
/** The log: the messages that flotilla writes while a program runs. They go to stderr, or to a
 * function of the program. The log belongs to the process, because some messages belong to no
 * runtime. <flotilla/error/log.hpp> describes the lines on stderr and the environment variable
 * FLOTILLA_LOG, which sets the level. */

#include <stddef.h>
#include <stdint.h>

#include <flotilla/c/export.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

/** The levels of messages. A log with a level has the messages of this level and those before it. */
typedef enum flotilla_log_level {
  /** An error that no ticket has, such as that of a posted task; a finding of a check. */
  FLOTILLA_LOG_ERROR = 0,
  /** The program works, but not as it was asked to, or slower than it could. */
  FLOTILLA_LOG_WARNING = 1,
  /** What flotilla does that takes long, such as making contexts and compiling kernels. */
  FLOTILLA_LOG_INFO = 2,
  /** Details for debugging, such as why a cache was not used. */
  FLOTILLA_LOG_DEBUG = 3
} flotilla_log_level;

/** One message. */
typedef struct flotilla_log_message {
  /** The size of the struct in the library, which may be newer than this header and then have more
   * members. */
  size_t size;
  flotilla_log_level level;
  int device;       /**< the ordinal of the device, or -1 if the message is not about one device */
  uint64_t time_ns; /**< the time of the message, in nanoseconds since 1970-01-01 00:00 UTC */
  uint64_t thread;  /**< the thread's number in the operating system (gettid) */
  char const* text; /**< without a newline at its end; valid during the call. Never null. */
} flotilla_log_message;

/** Sets the level of the process. It overrides FLOTILLA_LOG.
 * @param level  A flotilla_log_level.
 * @return FLOTILLA_INVALID_ARGUMENT  There is no such level. Nothing was changed. */
FLOTILLA_C_EXPORT flotilla_status flotilla_set_log_level(int level);

/** Gets the level of the process. If FLOTILLA_LOG has a wrong value and no level is set, it is
 * FLOTILLA_LOG_WARNING; flotilla_runtime_create returns FLOTILLA_UNKNOWN_SETTING in this case.
 * @return FLOTILLA_INVALID_ARGUMENT  `level` is null. */
FLOTILLA_C_EXPORT flotilla_status flotilla_get_log_level(flotilla_log_level* level);

/** Sends all messages to `function` instead of stderr.
 * @param function  Null: messages go to stderr again. Otherwise, several threads may call the
 *                  function at the same time, and a thread may hold the lease of a device during
 *                  the call. So the function must be quick, and must not call flotilla. An
 *                  exception that it throws is dropped, and its message is lost.
 * @param user      Is passed to `function`. Another thread may still be calling an earlier function
 *                  after this call, so what `user` points to must exist until the process ends.
 * @return FLOTILLA_OUT_OF_MEMORY  Nothing was changed.
 * Cost: each call keeps about 40 bytes until the process ends. */
FLOTILLA_C_EXPORT flotilla_status flotilla_set_log_handler(
    void (*function)(void* user, flotilla_log_message const* message), void* user);

FLOTILLA_C_END

#endif
