// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decodes the arguments of an entry point by their types, and encodes its results.

#include <string>
#include <tuple>
#include <type_traits>

#include "isolation/protocol/handles.hpp"
#include "isolation/worker/executor.hpp"

namespace flotilla::isolated {

/// A value, or an address in memory that both processes have mapped.
template <class Type>
struct argument {
  argument(worker_parts&, message_reader& in) : value(in.get<Type>()) {}
  Type pass() noexcept { return value; }
  void finish(worker_parts&, message_writer&) noexcept {}
  Type value;
};

template <class Type>
requires is_handle<Type>
struct argument<Type> {
  argument(worker_parts& parts, message_reader& in)
      : value(parts.objects.get<Type>(in.get<std::uint32_t>())) {}
  Type pass() noexcept { return value; }
  void finish(worker_parts&, message_writer&) noexcept {}
  Type value;
};

/// A handle that the call makes.
template <class Type>
requires is_handle<Type>
struct argument<Type*> {
  argument(worker_parts&, message_reader& in) : index(in.get<std::uint32_t>()) {}
  Type* pass() noexcept { return &value; }
  void finish(worker_parts& parts, message_writer&) noexcept { parts.objects.set(index, value); }
  std::uint32_t index;
  Type value{};
};

/// A result.
template <class Type>
requires(!is_handle<Type> && !is_handle<Type*> && !std::is_const_v<Type> &&
         !std::is_void_v<Type>) struct argument<Type*> {
  argument(worker_parts&, message_reader&) {}
  Type* pass() noexcept { return &value; }
  void finish(worker_parts&, message_writer& out) noexcept { out.put(value); }
  Type value{};
};

/// A structure.
template <class Type>
requires(std::is_class_v<Type>) struct argument<Type const*> {
  argument(worker_parts&, message_reader& in) : value(in.get<Type>()) {}
  Type const* pass() noexcept { return &value; }
  void finish(worker_parts&, message_writer&) noexcept {}
  Type value;
};

template <>
struct argument<char const*> {
  argument(worker_parts&, message_reader& in) : value(in.text()) {}
  char const* pass() noexcept { return value.c_str(); }
  void finish(worker_parts&, message_writer&) noexcept {}
  std::string value;
};

template <auto Field, class Entry>
struct generic_call;

template <auto Field, class... Types>
struct generic_call<Field, CUresult(CUDAAPI*)(Types...)> {
  static CUresult run(worker_parts& parts, message_reader& in, message_writer& out) {
    auto const entry = parts.api.*Field;
    if (entry == nullptr) { return CUDA_ERROR_NOT_SUPPORTED; }
    // The braces make the arguments in their order.
    std::tuple<argument<Types>...> all{argument<Types>(parts, in)...};
    if (!in.ok()) { return CUDA_ERROR_INVALID_VALUE; }
    return std::apply(
        [&](auto&... each) {
          CUresult const answer = entry(each.pass()...);
          if (answer == CUDA_SUCCESS) { (each.finish(parts, out), ...); }
          return answer;
        },
        all);
  }
};

/// The function that executes an entry of the table by the types of its arguments alone.
template <auto Field>
inline constexpr handler generic =
    &generic_call<Field, std::remove_cvref_t<decltype(driver::table{}.*Field)>>::run;

}  // namespace flotilla::isolated
