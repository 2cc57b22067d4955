// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The name of a kernel together with its parameter types.

namespace flotilla {
inline namespace v0_1 {

/// Names a kernel and its parameter types. `flotilla_add_kernels` writes one for each kernel of an
/// image, as a member of the image: `app_kernels.saxpy`. `program::kernel` takes it. The compiler
/// takes the types from the source of the kernel, so they cannot differ from it.
/// @tparam Signature  The type of the kernel function, such as void(float*, int).
template <class Signature>
struct kernel_handle {
  char const* name;
};

/// Stands for a kernel with a parameter type that the host compiler does not know.
/// `program::kernel` does not compile with it, and says what to do.
struct kernel_without_handle {
  char const* name;
};

}  // namespace v0_1
}  // namespace flotilla
