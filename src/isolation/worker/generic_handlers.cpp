// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/worker/arguments.hpp"

namespace flotilla::isolated {

handler generic_handler(operation what) noexcept {
  switch (what) {
#define FLOTILLA_ISOLATED_ENTRY(effect, field) \
  case operation::field:                       \
    return generic<&driver::table::field>;
#include "isolation/protocol/generic_entries.inc"
#undef FLOTILLA_ISOLATED_ENTRY
    // The owner prepares the host addresses of these calls.
    case operation::event_record: return generic<&driver::table::event_record>;
    case operation::mem_get_info: return generic<&driver::table::mem_get_info>;
    case operation::memcpy_htod: return generic<&driver::table::memcpy_htod>;
    case operation::memcpy_dtoh: return generic<&driver::table::memcpy_dtoh>;
    case operation::memcpy_async: return generic<&driver::table::memcpy_async>;
    case operation::memcpy_htod_async: return generic<&driver::table::memcpy_htod_async>;
    case operation::memcpy_dtoh_async: return generic<&driver::table::memcpy_dtoh_async>;
    case operation::memcpy_2d_async: return generic<&driver::table::memcpy_2d_async>;
    case operation::library_unload: return generic<&driver::table::library_unload>;
    default: return nullptr;
  }
}

}  // namespace flotilla::isolated
