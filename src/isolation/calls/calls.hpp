// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Puts the entry points of the forwarding driver into its table. Each function is in a file of its
// own, with the entry points that it puts.

#include "driver/table.hpp"

namespace flotilla::isolated {

void put_generic_calls(driver::table& into);
void put_context_calls(driver::table& into);
void put_memory_calls(driver::table& into);
void put_pointer_calls(driver::table& into);
void put_host_memory_calls(driver::table& into);
void put_copy_calls(driver::table& into);
void put_library_calls(driver::table& into);
void put_launch_calls(driver::table& into);
void put_graph_calls(driver::table& into);

/// Changes a copy of the base driver's table for devices of this process that share a runtime with
/// isolated ones. `forwarding` is the forwarding driver.
void put_local_calls(driver::table& into, driver::table const& forwarding);
void put_local_host_memory_calls(driver::table& into);

}  // namespace flotilla::isolated
