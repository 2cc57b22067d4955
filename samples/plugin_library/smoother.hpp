#pragma once
// The library's interface, without CUDA and flotilla. The library has its own contexts, which are
// current on no thread between calls. The caller's current context does not change.

#include <cstddef>

#if defined(__GNUC__)
#define SMOOTHER_API __attribute__((visibility("default")))
#else
#define SMOOTHER_API
#endif

extern "C" {

struct smoother;

/// Makes a context on every device. Null if that failed; `why`, of `why_bytes` bytes, then has the
/// reason.
SMOOTHER_API smoother* smoother_open(char* why, std::size_t why_bytes);

/// Smooths `count` values in place. Any number of threads may call it at once.
/// @return 0, or -1 if a value is not a number: then `why` says where, and no value has changed.
SMOOTHER_API int smoother_run(smoother* self, float* values, std::size_t count, char* why,
                              std::size_t why_bytes);

/// Destroys the contexts. No call may be running.
SMOOTHER_API void smoother_close(smoother* self);
}
