// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Protects the calling thread's context stack from user code, and restores the stack afterwards.

#include <string>
#include <vector>

#include "context/context_handle.hpp"

namespace flotilla::context {

/// While the guard exists, the calling thread's stack contains only the guarded context. The
/// destructor restores the earlier stack. Without the guard, user code that pops too often would
/// pop contexts of the application without an error.
///
/// The guarded context must be current before the constructor, and is current again after the
/// destructor. Cost: a few pushes and pops, about 100 ns.
class context_stack_guard {
 public:
  explicit context_stack_guard(context_handle const& context);
  ~context_stack_guard();
  context_stack_guard(context_stack_guard const&) = delete;
  context_stack_guard& operator=(context_stack_guard const&) = delete;

  /// Restores the stack now.
  /// @return  a description of how user code changed the stack; empty if the stack was unchanged,
  ///          or if the driver has refused to say
  [[nodiscard]] std::string restore();

 private:
  context_handle const& context_;
  std::vector<CUcontext> below_;  // the earlier stack below the guarded context, from top to bottom
  CUresult refusal_ = CUDA_SUCCESS;  // the driver refused to pop
  bool restored_ = false;
};

}  // namespace flotilla::context
