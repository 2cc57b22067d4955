// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The context of one device, and the gate that grants the context's lease.

#include <memory>
#include <utility>

#include "context/context_handle.hpp"
#include "context/lease.hpp"

namespace flotilla::context {

struct leased_context {
  /// Takes the arguments of the constructor of context_handle, and throws the same exceptions.
  leased_context(std::shared_ptr<driver::table const> api, device const& where, request asked)
      : context(std::move(api), where, std::move(asked)), gate(context) {}

  context_handle context;
  lease_gate gate;
};

}  // namespace flotilla::context
