#pragma once
// The end of the process while threads still use the library.
//
// When a thread calls std::exit, or main returns, destructors of static objects run and the CUDA
// driver shuts down. Other threads go on meanwhile, and their driver calls fail. An exception in
// such a thread would terminate the process, which would lose its exit status.

namespace flotilla::base {

/// From now on the process remembers the thread that ends it, and its exit status. Call it after
/// the driver was initialised, so that the thread is known before the driver shuts down. Calls after
/// the first one do nothing.
void watch_process_end();

/// If this thread is ending the process, ends it at once with the status that std::exit was called
/// with. Output of the C library is flushed; destructors that have not run do not run.
void finish_process_end() noexcept;

/// If another thread is ending the process, sleeps until the process has ended, but for 2 s at
/// most: the other thread may be waiting for this one. Call it before throwing an error that the
/// end of the driver may have caused.
void yield_to_process_end() noexcept;

}  // namespace flotilla::base
