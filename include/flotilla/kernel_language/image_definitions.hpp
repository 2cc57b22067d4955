// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Definitions for a CPU image. flotilla_add_kernels() includes this header once, at the end of the
/// generated source. The header has templates for the records of kernels and variables. It also
/// defines functions of the C library, such as printf and malloc, that behave differently in a
/// kernel. The version script of the image keeps these functions local to the image.

#include <cstdarg>
#include <cstddef>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include <flotilla/kernel_language.hpp>
#include <flotilla/kernel_language/image_abi.hpp>

namespace flotilla::cpu::language {

template <class T>
T load_argument(void const* bytes) {
  static_assert(std::is_trivially_copyable_v<T>, "a kernel's parameter must be trivially copyable");
  alignas(T) unsigned char copy[sizeof(T)];
  std::memcpy(copy, bytes, sizeof(T));
  return *std::launder(reinterpret_cast<T const*>(copy));
}

inline void advance(index3& index, index3 size) {
  if (++index.x < size.x) { return; }
  index.x = 0;
  if (++index.y < size.y) { return; }
  index.y = 0;
  ++index.z;
}

/// The sizes and offsets of parameters. The layout is the same as nvcc's: each offset is a multiple
/// of the parameter's alignment.
template <class... P>
struct parameters {
  static constexpr std::uint32_t count = sizeof...(P);
  // One element more than needed, because an array cannot be empty.
  struct table {
    std::uint32_t of[count + 1];
  };
  static constexpr table sizes{{static_cast<std::uint32_t>(sizeof(P))..., 0}};
  static constexpr table offsets = [] {
    table result{};
    std::uint32_t const alignments[]{static_cast<std::uint32_t>(alignof(P))..., 1};
    std::uint32_t end = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      result.of[i] = (end + alignments[i] - 1) / alignments[i] * alignments[i];
      end = result.of[i] + sizes.of[i];
    }
    return result;
  }();
};

template <auto Kernel>
struct kernel;

template <class... P, void (*Kernel)(P...)>
struct kernel<Kernel> {
  static void run_threads(block_services* s, void* const* arguments) {
    run_threads(s, arguments, std::index_sequence_for<P...>{});
  }

  template <std::size_t... I>
  static void run_threads(block_services* s, [[maybe_unused]] void* const* arguments,
                          std::index_sequence<I...>) {
    bound = s;
    std::tuple<P...> const values{load_argument<P>(arguments[I])...};
    while (s->next_thread < s->thread_count) {
      std::uint32_t const number = s->next_thread++;
      s->thread_number = number;
      // Copies the members one by one. A copy of the whole struct would load several members at
      // once, just after each member was stored separately. The processor cannot forward several
      // stores to one load. The resulting stall took half of the run time of an empty kernel.
      index3& next = s->next_index;
      index3& mine = s->thread_index;
      mine.x = next.x;
      mine.y = next.y;
      mine.z = next.z;
      advance(next, s->block_size);
      Kernel(std::get<I>(values)...);
      // Other threads may have run during the call, so `s->thread_number` may have changed.
      // `number` has not changed.
      s->exited[number / warp_lanes] |= 1u << number % warp_lanes;
      ++s->exited_count;
    }
  }

  static constexpr kernel_record record(char const* name, std::uint32_t max_threads) {
    return {name,
            &run_threads,
            parameters<P...>::count,
            parameters<P...>::sizes.of,
            parameters<P...>::offsets.of,
            max_threads};
  }
};

/// Returns the first argument of `__launch_bounds__`. The other arguments have no effect on CPU
/// devices.
constexpr std::uint32_t launch_bound(auto threads, auto...) {
  return static_cast<std::uint32_t>(threads);
}

template <class T>
constexpr global_record global(char const* name, T& variable) {
  return {name, const_cast<void*>(static_cast<void const volatile*>(&variable)), sizeof(T)};
}

static_assert(image_note_type == 1 && cpu_image::current_abi == 2,
              "the assembler code of the note below contains these numbers");

}  // namespace flotilla::cpu::language

// The ELF note that identifies the shared object as a CPU image. Its fields are: length of the
// owner, length of the value, type, owner, and value (the ABI number).
asm(R"(
  .pushsection .note.flotilla, "a", %note
  .balign 4
  .long 9, 4, 1
  .asciz "flotilla"
  .balign 4
  .long 2
  .popsection
)");

// glibc's assert calls this function. glibc's own definition ends the process. This definition ends
// only the grid.
extern "C" void __assert_fail(char const* expression, char const* file, unsigned line,
                              char const* function) noexcept {  // declared noreturn by assert.h
  auto* s = flotilla::cpu::language::services();
  s->assert_failed(s, expression, file, line, function);
  __builtin_unreachable();
}

extern "C" int printf(char const* format, ...) {
  auto* s = flotilla::cpu::language::services();
  std::va_list arguments;
  va_start(arguments, format);
  int const count = s->print(s, format, arguments);
  va_end(arguments);
  return count;
}

extern "C" void* malloc(std::size_t bytes) noexcept {
  auto* s = flotilla::cpu::language::services();
  return s->allocate(s, bytes);
}
extern "C" void free(void* address) noexcept {
  auto* s = flotilla::cpu::language::services();
  s->release(s, address);
}

// As in CUDA, the result is null if the heap is full, because kernels have no exceptions.
void* operator new(std::size_t bytes) { return malloc(bytes); }
void* operator new[](std::size_t bytes) { return malloc(bytes); }
void operator delete(void* address) noexcept { free(address); }
void operator delete[](void* address) noexcept { free(address); }
void operator delete(void* address, std::size_t) noexcept { free(address); }
void operator delete[](void* address, std::size_t) noexcept { free(address); }
