// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The entry points of a driver return a status and never throw: destructors and other functions
// that must not throw call them.

#include <cuda.h>

#include <new>

namespace flotilla::isolated {

/// Calls the function. Returns CUDA_ERROR_OUT_OF_MEMORY if it finds no memory.
template <class Function>
CUresult status_of(Function const& function) noexcept {
  try {
    return function();
  } catch (std::bad_alloc const&) { return CUDA_ERROR_OUT_OF_MEMORY; } catch (...) {
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
}

template <auto Entry, class Type = decltype(Entry)>
struct guarded_entry;

template <auto Entry, class... Types>
struct guarded_entry<Entry, CUresult(CUDAAPI*)(Types...)> {
  static CUresult CUDAAPI call(Types... values) noexcept {
    return status_of([&] { return Entry(values...); });
  }
};

/// The function as an entry of a driver table.
template <auto Entry>
inline constexpr auto never_throws = &guarded_entry<Entry>::call;

}  // namespace flotilla::isolated
