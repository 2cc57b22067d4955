// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/context/context_stack.hpp"

#include <vector>

#include "base/per_thread.hpp"

namespace flotilla::cpu_driver::context_stack {
namespace {

using handles = std::vector<CUcontext>;
using mine = base::per_thread<handles>;

}  // namespace

CUcontext top() noexcept {
  handles const* const found = mine::find();
  return found == nullptr || found->empty() ? nullptr : found->back();
}

void push(CUcontext added) { mine::get().push_back(added); }

CUcontext pop() noexcept {
  CUcontext const taken = top();
  if (taken != nullptr) { mine::get().pop_back(); }
  return taken;
}

std::size_t depth() noexcept {
  handles const* const found = mine::find();
  return found == nullptr ? 0 : found->size();
}

}  // namespace flotilla::cpu_driver::context_stack
