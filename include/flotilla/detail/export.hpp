#pragma once
/// Checks the language standard. Every public header includes this file before it uses C++20.
///
/// Marks the names that the library exports. All other names have hidden visibility.
/// The macro uses the [[...]] syntax, so that [[nodiscard]] can stand before or after the macro.

#if __cplusplus < 202002L
#error "flotilla needs C++20. Compile with -std=c++20; nvcc needs this option too, see README.md"
// Compilers stop at a missing file. After #error alone they would report a hundred more errors.
#define FLOTILLA_STOP <flotilla/needs_cxx20>
#include FLOTILLA_STOP
#endif

#define FLOTILLA_EXPORT [[gnu::visibility("default")]]
