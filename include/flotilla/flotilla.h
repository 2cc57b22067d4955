/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_FLOTILLA_H
#define FLOTILLA_FLOTILLA_H
/** The interface of flotilla for C and for languages that call C. Needs C99 or C++98.
 *
 * It covers runtimes, devices, programs, kernels, memory, tasks, bulks, tickets, recordings, flows,
 * data, clusters, traces and the log.
 * docs/c.md has an introduction, and says what only the interface for C++ has.
 *
 * Errors     Every function that can fail returns a flotilla_status. After a failure, the function
 *            has changed nothing, unless its comment says otherwise, and flotilla_last_error()
 *            returns the text of the error. No C++ exception leaves a function.
 * Handles    A runtime, program, kernel, buffer, ticket, recording, flow, data, cluster or trace is a
 *            number in a struct. A function that gets a handle of an object that does not exist (any more),
 *            or of another kind of object, returns FLOTILLA_INVALID_HANDLE. A handle whose bytes are
 *            all zero names no object.
 * Structs    The first member of each struct of options is its size. Initialise such a struct with
 *            its macro, such as FLOTILLA_RUNTIME_OPTIONS_INIT, also if the function writes to
 *            it. A later version of flotilla can then add members. Members that the library does
 *            not know are ignored.
 * Threads    Any thread may call any function at any time, but an object must not be destroyed,
 *            freed or released while another thread uses it. Recordings have one more rule
 *            (flotilla_recording_create).
 */

#include <flotilla/c/status.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/runtime.h>
#include <flotilla/c/device.h>
#include <flotilla/c/program.h>
#include <flotilla/c/memory.h>
#include <flotilla/c/task.h>
#include <flotilla/c/ticket.h>
#include <flotilla/c/recording.h>
#include <flotilla/c/data.h>
#include <flotilla/c/flow.h>
#include <flotilla/c/cluster.h>
#include <flotilla/c/trace.h>
#include <flotilla/c/log.h>

#endif
