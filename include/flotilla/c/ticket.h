/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_TICKET_H
#define FLOTILLA_C_TICKET_H
/** Tickets: how the program learns that a task has ended. */

#include <stddef.h>
#include <stdint.h>

#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

/** Releases a ticket. Its task still runs. A ticket that is not released keeps a few bytes. */
FLOTILLA_C_EXPORT flotilla_status flotilla_ticket_release(flotilla_ticket ticket);

/** Gets 1 if the task has ended, successfully or not, otherwise 0. Never blocks. In single-threaded
 * mode, the call may pump once. */
FLOTILLA_C_EXPORT flotilla_status flotilla_ticket_ready(flotilla_ticket ticket, int* ready);

/** Waits until the task has ended. The caller helps to run tasks meanwhile.
 * @return FLOTILLA_SUCCESS if the task succeeded. Every call for a task that failed returns its
 *         error: FLOTILLA_DRIVER_ERROR, FLOTILLA_DEPENDENCY_FAILED, FLOTILLA_BULK_FAILED,
 *         FLOTILLA_TASK_CANCELLED, FLOTILLA_TASK_FAILED, FLOTILLA_POISONED, FLOTILLA_OTHER_ERROR.
 *         FLOTILLA_WOULD_DEADLOCK  The caller is inside a function of a task, and the task cannot
 *                                  continue before it returns. */
FLOTILLA_C_EXPORT flotilla_status flotilla_ticket_wait(flotilla_ticket ticket);

/** Waits as flotilla_ticket_wait does, but at most for `nanoseconds`.
 * @param ended  Gets 1 if the task has ended, otherwise 0. If the task failed, the function returns
 *               its error, and `ended` is 1. After any other error, `ended` is 0. */
FLOTILLA_C_EXPORT flotilla_status flotilla_ticket_wait_for(flotilla_ticket ticket,
                                                           uint64_t nanoseconds, int* ended);

/** Waits until all tasks have ended. If `count` is 0, `tickets` may be null.
 * @return the error of the first failed task in the array, FLOTILLA_SUCCESS,
 *         FLOTILLA_INVALID_HANDLE, or FLOTILLA_WOULD_DEADLOCK */
FLOTILLA_C_EXPORT flotilla_status flotilla_wait_all(flotilla_ticket const* tickets, size_t count);

/** Waits until one of the tasks has ended, and gets the lowest index of an ended task. Its error is
 * not reported.
 * @return FLOTILLA_INVALID_ARGUMENT (also if `count` is 0), FLOTILLA_INVALID_HANDLE,
 *         FLOTILLA_WRONG_RUNTIME, FLOTILLA_WOULD_DEADLOCK */
FLOTILLA_C_EXPORT flotilla_status flotilla_wait_any(flotilla_ticket const* tickets, size_t count,
                                                    size_t* index);

/** Cancels the task if it is not launched yet. Then it ends with FLOTILLA_TASK_CANCELLED, with
 * FLOTILLA_DEPENDENCY_FAILED if a predecessor has failed, or with FLOTILLA_BULK_FAILED if it is a
 * bulk.
 * @param cancelled  Null, or gets 1 if the task will not run or was cancelled before, otherwise
 *                   0. */
FLOTILLA_C_EXPORT flotilla_status flotilla_ticket_cancel(flotilla_ticket ticket, int* cancelled);

/** Gets the ordinal of the device that runs or ran the task, or FLOTILLA_ANY_DEVICE if it is not
 * known. */
FLOTILLA_C_EXPORT flotilla_status flotilla_ticket_device(flotilla_ticket ticket, int* device);

/** Makes the runtime call `function` once after the task has ended, on a thread of the runtime, or
 * in single-threaded mode inside a pump or a wait. If the runtime has ended, this call calls it.
 * `status` is what flotilla_ticket_wait would return, and `text` its text, which is valid during
 * the call. The ticket may be released before.
 * Blocks: never. */
FLOTILLA_C_EXPORT flotilla_status flotilla_ticket_then(
    flotilla_ticket ticket, void (*function)(void* user, flotilla_status status, char const* text),
    void* user);

FLOTILLA_C_END

#endif
