// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of the process while threads still use the library.
//
// When a thread calls std::exit, or main returns, destructors of static objects run and the CUDA
// driver shuts down. Other threads go on meanwhile, and their driver calls fail. If such a failure
// led to an exception that is not caught, std::terminate would abort the process, and the exit
// status would be lost.

namespace flotilla::base {

/// Registers an exit handler that stores the exit status and the thread that ends the process. Exit
/// handlers and destructors of static objects run in the reverse order of their registration. So
/// call this function after what must know that the process ends: after the driver was initialised,
/// and after a runtime, which may be a static object, was constructed. Each call takes 32 bytes
/// until the process ends. Keeps the library loaded, because the handler cannot be removed.
void watch_process_end() noexcept;

/// Returns whether the calling thread is ending the process. Then other threads may still use what
/// this thread destroys.
[[nodiscard]] bool this_thread_ends_process() noexcept;

/// If the calling thread is ending the process, ends the process at once, with the exit status that
/// was passed to std::exit. The function flushes the output of the C library. Destructors of static
/// objects that have not run yet do not run.
void finish_process_end() noexcept;

/// If another thread is ending the process, sleeps until the process has ended, but for 2 s at
/// most, because the other thread may be waiting for the calling thread. Call this function before
/// throwing an error that the end of the process may have caused. Does nothing on a thread that
/// runs the library's own code, because the destructor of a runtime may wait for this thread.
void yield_to_process_end() noexcept;

/// Says whether the calling thread runs the library's own code.
void never_yield_to_process_end(bool never) noexcept;

}  // namespace flotilla::base
