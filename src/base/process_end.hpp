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

/// Registers an exit handler that stores the exit status and the thread that ends the process. Call
/// this function after the driver was initialised: exit handlers run in reverse order, so this
/// handler runs before the driver shuts down. Later calls do nothing.
void watch_process_end();

/// If the calling thread is ending the process, ends the process at once, with the exit status that
/// was passed to std::exit. The function flushes the output of the C library. Destructors of static
/// objects that have not run yet do not run.
void finish_process_end() noexcept;

/// If another thread is ending the process, sleeps until the process has ended, but for 2 s at
/// most, because the other thread may be waiting for the calling thread. Call this function before
/// throwing an error that the shutdown of the driver may have caused.
void yield_to_process_end() noexcept;

}  // namespace flotilla::base
