/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_STATUS_H
#define FLOTILLA_C_STATUS_H
/** The results of functions, and the error of the last function that failed. */

#include <stddef.h>

#include <flotilla/c/export.h>

FLOTILLA_C_BEGIN

/** The result of a function. A status keeps its number in all later versions. */
typedef enum flotilla_status {
  FLOTILLA_SUCCESS = 0,
  /** An argument is invalid, such as a null pointer or an empty grid. */
  FLOTILLA_INVALID_ARGUMENT = 1,
  /** A handle names no object, an object that does not exist any more, or an object of another
   * kind. */
  FLOTILLA_INVALID_HANDLE = 2,
  /** There is no driver or no device. */
  FLOTILLA_NO_DEVICE = 3,
  /** The runtime has no device with this ordinal, or a text selects no device. */
  FLOTILLA_UNKNOWN_DEVICE = 4,
  /** The program has no kernel or variable of this name. */
  FLOTILLA_UNKNOWN_SYMBOL = 5,
  /** A setting does not exist, or its value is not allowed. */
  FLOTILLA_UNKNOWN_SETTING = 6,
  /** An image or a file with an image cannot be read or has the wrong format. */
  FLOTILLA_BAD_IMAGE = 7,
  /** The kernel is only for GPUs, but the runtime has CPU devices. */
  FLOTILLA_GPU_ONLY_KERNEL = 8,
  /** A kernel, buffer or ticket belongs to another runtime. */
  FLOTILLA_WRONG_RUNTIME = 9,
  /** A check found two tasks that use the same memory without an order (FLOTILLA_CHECK=order). */
  FLOTILLA_MISSING_DEPENDENCY = 10,
  /** The runtime was closed. */
  FLOTILLA_RUNTIME_CLOSED = 11,
  /** The window of the device is full, and the caller must not wait. */
  FLOTILLA_WINDOW_FULL = 12,
  /** The caller is inside a function of a task or a continuation, and this wait could block
   * forever. */
  FLOTILLA_WOULD_DEADLOCK = 13,
  /** The task did not run, because one of its predecessors failed. */
  FLOTILLA_DEPENDENCY_FAILED = 14,
  /** An item of a bulk failed or was refused. */
  FLOTILLA_BULK_FAILED = 15,
  /** The task was cancelled, so it did not run. */
  FLOTILLA_TASK_CANCELLED = 16,
  /** The function of the task returned a code that is not 0. */
  FLOTILLA_TASK_FAILED = 17,
  /** The runtime can run no more tasks. The text says why. */
  FLOTILLA_POISONED = 18,
  /** A child of fork() used a runtime that its parent had made. */
  FLOTILLA_USED_AFTER_FORK = 19,
  /** A call of the CUDA driver failed. */
  FLOTILLA_DRIVER_ERROR = 20,
  /** There is no host memory left. */
  FLOTILLA_OUT_OF_MEMORY = 21,
  /** Buffers or recordings of the runtime exist, so the runtime cannot be destroyed. */
  FLOTILLA_STILL_USED = 22,
  /** Any other failure. */
  FLOTILLA_OTHER_ERROR = 23,
  /** The task did not begin in time (flotilla_task_options::timeout_ns), so it did not run. */
  FLOTILLA_TIMED_OUT = 24,
  /** The source of a kernel does not compile. The text has the log of the compiler. */
  FLOTILLA_COMPILE_ERROR = 25,
  /** This machine has no compiler for kernels. The text says what to install. */
  FLOTILLA_NO_COMPILER = 26,
  /** A trace cannot begin, or its file cannot be written. */
  FLOTILLA_TRACE_FAILED = 27,
  /** The isolated device of the task was lost: a kernel faulted, its worker process ended, or it was
   * stuck. The device goes on in another worker process, unless it is quarantined. */
  FLOTILLA_DEVICE_FAULT = 28,
  /** A task on another rank failed, so the data that it should have written do not exist here. It is
   * the cause of FLOTILLA_DEPENDENCY_FAILED. Only flows over ranks have it (flotilla/c/cluster.h). */
  FLOTILLA_REMOTE_ERROR = 29,
  /** A rank of a cluster has failed, has ended too early, or runs another program. After it, no flow of
   * the cluster can go on. */
  FLOTILLA_RANK_FAILED = 30
} flotilla_status;

/** Returns the name of a status, such as "FLOTILLA_BAD_IMAGE". Never null. */
FLOTILLA_C_EXPORT char const* flotilla_status_name(flotilla_status status);

/** Returns the text of the last failure in the calling thread: which object, which call, and why.
 * It is empty before the first failure, and valid until the next failure in this thread. Never
 * null, and at most 4095 characters. */
FLOTILLA_C_EXPORT char const* flotilla_last_error(void);

/** More about the last failure in the calling thread. */
typedef struct flotilla_error_details {
  size_t size;            /**< sizeof(flotilla_error_details) */
  flotilla_status status; /**< FLOTILLA_SUCCESS before the first failure */
  /** FLOTILLA_DRIVER_ERROR, FLOTILLA_POISONED, FLOTILLA_DEVICE_FAULT: the CUresult of the driver.
   * Otherwise 0. */
  int driver_status;
  /** FLOTILLA_TASK_FAILED: the result of the function, or the code of the kernel.
   * FLOTILLA_DEVICE_FAULT: 1 if the task may have run in part, 0 if it did not begin.
   * FLOTILLA_REMOTE_ERROR, FLOTILLA_RANK_FAILED: the rank.
   * FLOTILLA_DEPENDENCY_FAILED, FLOTILLA_BULK_FAILED: that of `first_cause`. Otherwise 0. */
  int code;
  /** FLOTILLA_BULK_FAILED: the status of the item. FLOTILLA_DEPENDENCY_FAILED: the status of the
   * predecessor. Otherwise FLOTILLA_SUCCESS. */
  flotilla_status cause;
  size_t item; /**< FLOTILLA_BULK_FAILED: the index of the item. Otherwise 0. */
  /** FLOTILLA_DEPENDENCY_FAILED, FLOTILLA_BULK_FAILED: the status of the task or item that failed
   * first, which is none of these two. Otherwise FLOTILLA_SUCCESS. */
  flotilla_status first_cause;
} flotilla_error_details;

#define FLOTILLA_ERROR_DETAILS_INIT \
  { sizeof(flotilla_error_details), FLOTILLA_SUCCESS, 0, 0, FLOTILLA_SUCCESS, 0, FLOTILLA_SUCCESS }

/** Writes the details of the last failure in the calling thread to `details`.
 * @return FLOTILLA_INVALID_ARGUMENT if `details` is null or its size is too small. This failure
 *         does not replace the last one. */
FLOTILLA_C_EXPORT flotilla_status flotilla_last_error_details(flotilla_error_details* details);

/** Returns the version of the library, such as "0.1.0". */
FLOTILLA_C_EXPORT char const* flotilla_version_text(void);

FLOTILLA_C_END

#endif
