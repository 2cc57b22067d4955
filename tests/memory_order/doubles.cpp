// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Constructors that call no driver, for classes whose other members are under test.

#include "context/context_handle.hpp"
#include "dispatch/lane/registered_memory.hpp"

namespace flotilla {

context::context_handle::context_handle(std::shared_ptr<driver::table const> api,
                                        device const& where, request asked)
    : api_(std::move(api)), where_(where), asked_(std::move(asked)) {}
context::context_handle::~context_handle() = default;

dispatch::registered_memory::registered_memory(context::context_handle const& context,
                                               std::size_t bytes, users)
    : context_(context), host_(bytes) {}
void dispatch::registered_memory::shared_deleter::operator()(std::byte*) const noexcept {}

}  // namespace flotilla
