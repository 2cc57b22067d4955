// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks the language standard. Every public header includes this file before it uses C++20.
///
/// Marks the names that the library exports. All other names have hidden visibility.
/// The macro uses the [[...]] syntax, so that [[nodiscard]] can stand before or after the macro.

#if __cplusplus < 202002L
#error "flotilla needs C++20. Compile with -std=c++20; nvcc needs this option too: docs/install.md"
// Compilers stop at a missing file. After #error alone they would report a hundred more errors.
#define FLOTILLA_STOP <flotilla/needs_cxx20>
#include FLOTILLA_STOP
#endif

#ifdef FLOTILLA_STATIC  // the target flotilla::flotilla_static defines this macro for its users
// A library that contains the archive must not export flotilla's names. Otherwise two libraries
// with different versions of flotilla could use each other's functions.
#define FLOTILLA_EXPORT
#else
#define FLOTILLA_EXPORT [[gnu::visibility("default")]]
#endif
