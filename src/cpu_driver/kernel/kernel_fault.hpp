// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Says which kernel has caused a signal.

#include <flotilla/kernel_language/image_abi.hpp>

namespace flotilla::cpu_driver {

/// The kernel that the calling thread runs, until the end of the block. If it causes SIGSEGV,
/// SIGBUS, SIGFPE or SIGILL, a handler prints one line with its name, and then passes the signal to
/// the handler that was installed before, such as that of a sanitizer, or ends the process as
/// without a handler. Signals of other threads go on at once.
class running_kernel {
 public:
  running_kernel(char const* name, int device, cpu::block_services const& block) noexcept;
  ~running_kernel();
  running_kernel(running_kernel const&) = delete;
  running_kernel& operator=(running_kernel const&) = delete;

  char const* const name;
  int const device;  // the number of the CPU device
  cpu::block_services const& block;
};

/// What a thread needs to run kernels: the handler, and a stack for it, because a kernel can
/// overflow its own. A thread that has such a stack keeps it.
class fault_stack {
 public:
  fault_stack() noexcept;
  ~fault_stack();
  fault_stack(fault_stack const&) = delete;
  fault_stack& operator=(fault_stack const&) = delete;

 private:
  void* memory_ = nullptr;
};

}  // namespace flotilla::cpu_driver
