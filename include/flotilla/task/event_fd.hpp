// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A file descriptor with which an event loop learns that a runtime has work for it.

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;

/// Returns a file descriptor that becomes readable when the loop should call `runtime::pump`. Give
/// it to poll, select or epoll, together with the loop's sockets and timers, and pump whenever it
/// is readable:
///
///     for (;;) {
///       poll(descriptors, count, -1);  // event_fd(rt) is one of them, with POLLIN
///       rt.pump();                     // see runtime::pump
///       ...                            // read the other descriptors, and submit tasks
///     }
///
/// The descriptor is readable if, since the last call of `pump` began,
///   - a task was submitted, or a task can be launched now,
///   - a task has ended,
///   - in single-threaded mode, a continuation has become due, or is left because the last `pump`
///     has run 64 of them,
///   - another thread has run a continuation, or
///   - the driver has become poisoned.
/// So tasks that the loop submits after `pump` make the descriptor readable, and the loop never
/// sleeps while there is work that only `pump` can do. `pump` makes the descriptor unreadable
/// before it looks for work. The descriptor is also readable after the first call of `event_fd`. It
/// may be readable although there is nothing to do. Never read from it, write to it or close it.
///
/// The rules are the same with workers. Then workers do most of the work. The descriptor tells the
/// loop that tasks have ended and continuations have run, but `pump` may find nothing left to do.
///
/// While some tasks wait for something that gives no signal, such as an event of the application,
/// or while their window or lane is full, the descriptor becomes readable from time to time, so
/// that `pump` can check for progress.
///
/// One thread should poll and pump. If several threads call `pump`, each call makes the descriptor
/// unreadable, and does the work itself. `ticket::ready` and waits do not make it unreadable.
///
/// The first call starts a thread, even in single-threaded mode, because no device signals the host
/// when it completes a task. The thread runs no tasks and no continuations, makes no context
/// current, and holds no device. It sleeps while nothing is in flight, or while the descriptor is
/// readable. Otherwise it looks for ended tasks at intervals of an eighth of the time since a task
/// was last submitted or ended, but at least 20 us and at most 1 ms. It queries the streams for
/// errors every 5 ms. A runtime for which `event_fd` was never called has
/// no such thread.
///
/// @throws std::system_error  The process has too many descriptors or threads.
/// @throws std::bad_alloc, used_after_fork
/// Threads   any. Every call for the same runtime returns the same descriptor.
/// Blocks    never.
/// Cost      The first call makes a descriptor and a thread. After that, each `pump` makes one more
///           system call.
/// Lifetime  The descriptor belongs to the runtime, and is closed when the runtime ends. exec()
///           closes it. A child of fork() must not use it.
[[nodiscard]] FLOTILLA_EXPORT int event_fd(runtime& owner);

}  // namespace v0_1
}  // namespace flotilla
