#pragma once
// What the library shows to applications. No word of CUDA or flotilla: the contexts it uses are its
// own, and float while nobody calls. Whatever context the caller has current stays current.

#include <cstddef>

#if defined(__GNUC__)
#define SMOOTHER_API __attribute__((visibility("default")))
#else
#define SMOOTHER_API
#endif

extern "C" {

struct smoother;

/// Makes a context on every device. Null: it could not; `why`, of `why_bytes` bytes, says why not.
SMOOTHER_API smoother* smoother_open(char* why, std::size_t why_bytes);

/// Smooths `count` values in place. Any thread may call it, many at once.
/// @return 0, or -1 where a value is no number: then `why` says where, and the values are as they
/// were.
SMOOTHER_API int smoother_run(smoother* with, float* values, std::size_t count, char* why,
                              std::size_t why_bytes);

/// Gives the contexts up. Nobody may be inside.
SMOOTHER_API void smoother_close(smoother* of);
}
