// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The members of a context that its streams and kernels use.

#include <cuda.h>

#include "cpu_driver/memory/device_heap.hpp"
#include "cpu_driver/memory/print_fifo.hpp"
#include "cpu_driver/properties/context_flags.hpp"
#include "cpu_driver/properties/limits.hpp"

namespace flotilla::cpu_driver {

class device_thread;
class memory_account;

/// The context has this struct as a member, so the struct lives longer than the context's streams.
/// Thread-safe.
struct context_resources {
  context_resources(CUcontext context, device_thread& its_thread, memory_account& its_memory,
                    unsigned its_flags)
      : handle(context), thread(its_thread), account(its_memory), flags(its_flags) {}

  CUcontext const handle;
  device_thread& thread;    // thread of the context's device
  memory_account& account;  // memory account of the context's device
  context_flags flags;
  class limits limits;
  device_heap heap{limits};  // for malloc in kernels
  print_fifo fifo{limits};   // for printf in kernels
};

}  // namespace flotilla::cpu_driver
