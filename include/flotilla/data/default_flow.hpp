// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A flow for all parts of a program.

#include <flotilla/data/flow.hpp>
#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;

/// Returns the flow that all parts of a program can share if they know only the runtime:
///
///     auto& flow = flotilla::default_flow(rt);
///
/// It has the default options. The first call makes it, and the destructor of the runtime ends it.
/// So its data must end before the runtime does.
/// @throws runtime_closed, poisoned, used_after_fork
/// Threads  any.
/// Cost     a lock; the first call costs what the constructor of a flow costs.
[[nodiscard]] FLOTILLA_EXPORT flow& default_flow(runtime& rt);

}  // namespace v0_1
}  // namespace flotilla
