// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/api/entry.hpp"

#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "base/refusal.hpp"

namespace flotilla::cpu_driver {

CUresult status_of_exception() noexcept {
  try {
    throw;
  } catch (base::no_memory const& refused) {
    base::note_refusal(CUDA_ERROR_OUT_OF_MEMORY, refused.what());
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (std::bad_alloc const&) {
    try {
      base::note_refusal(CUDA_ERROR_OUT_OF_MEMORY,
                         "the host has no memory left" + base::limits_text(base::limits_of_memory));
    } catch (std::bad_alloc const&) { base::forget_refusal(); }
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (std::system_error const& refused) {
    // The thread of a device could not be started.
    base::note_refusal(CUDA_ERROR_OPERATING_SYSTEM, refused.what());
    return CUDA_ERROR_OPERATING_SYSTEM;
  } catch (...) { return CUDA_ERROR_UNKNOWN; }
}

}  // namespace flotilla::cpu_driver
