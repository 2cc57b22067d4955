// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Access of the devices of a runtime to the memory of each other.

#include <string>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;

/// Returns whether kernels on device `from` can use the buffers of device `to`, and whether copies
/// between the two devices on which `from` is the destination are direct. Otherwise a launch on
/// `from` must not use memory of `to`, and the driver copies through host memory.
///
/// The constructor of the runtime enables access for each ordered pair of its devices, in the
/// context of `from` (cuCtxEnablePeerAccess) and in the current memory pool of `to`
/// (cuMemPoolSetAccess). The setting "peer_access" of `from` turns this off. If the driver refuses
/// the access, the runtime works without it. The answer does not change while the runtime exists. A
/// device has access to its own memory, and to the memory of all parts of the same GPU.
///
/// The access stays after the end of the runtime, except the access of contexts that the runtime
/// destroys: other code of the process may rely on it.
///
/// @throws unknown_device  There is no device `from` or `to`.
/// Threads  any.
/// Blocks   never.
/// Cost     no driver call.
[[nodiscard]] FLOTILLA_EXPORT bool can_access_peer(runtime const& owner, device_ordinal from,
                                                   device_ordinal to);

/// Returns the reason why `can_access_peer` is false, such as "the driver says that these devices
/// are not peers". The text is empty if `can_access_peer` is true. The rules for threads, blocking
/// and cost are those of `can_access_peer`, but the call copies the text.
/// @throws unknown_device  There is no device `from` or `to`.
[[nodiscard]] FLOTILLA_EXPORT std::string why_no_peer_access(runtime const& owner,
                                                             device_ordinal from,
                                                             device_ordinal to);

}  // namespace v0_1
}  // namespace flotilla
