// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface of the library. It does not mention CUDA or flotilla. The library has its own
// contexts, which are current on no thread between calls. A call does not change the caller's
// current context.

#include <cstddef>

#if defined(__GNUC__)
#define SMOOTHER_API __attribute__((visibility("default")))
#else
#define SMOOTHER_API
#endif

extern "C" {

struct smoother;

/// Opens the library, which makes a context on every device.
/// @return Null after an error. In that case the buffer `why` of `why_bytes` bytes has the reason.
SMOOTHER_API smoother* smoother_open(char* why, std::size_t why_bytes);

/// Smooths `count` values in place. Several threads may call this function at the same time.
/// @return 0, or -1 after an error, for example if a value is not a number. After an error `why`
///         has the reason, and the values are unchanged.
SMOOTHER_API int smoother_run(smoother* self, float* values, std::size_t count, char* why,
                              std::size_t why_bytes);

/// Closes the library and destroys its contexts. No other call may be running.
SMOOTHER_API void smoother_close(smoother* self);
}
