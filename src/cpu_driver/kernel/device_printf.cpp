// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/device_printf.hpp"

#include <locale.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

namespace flotilla::cpu_driver {
namespace {

int arguments_asked_for(char const* format) {
  int count = 0;
  while ((format = std::strchr(format, '%')) != nullptr) {
    ++format;
    if (*format == '%') {
      ++format;
      continue;
    }
    // A `*` as width or precision consumes one more argument.
    std::size_t const flags = std::strspn(format, "-+ #0123456789.*hlLqjzt");
    for (std::size_t i = 0; i < flags; ++i) { count += format[i] == '*'; }
    format += flags;
    if (*format != '\0') { ++count; }
  }
  return count;
}

/// While the object lives, this thread formats numbers as the C locale does. A program with another
/// locale would otherwise get a decimal comma from a kernel's printf.
class in_c_locale {
 public:
  in_c_locale() noexcept : before_(::uselocale(c_locale())) {}
  ~in_c_locale() { ::uselocale(before_); }
  in_c_locale(in_c_locale const&) = delete;
  in_c_locale& operator=(in_c_locale const&) = delete;

 private:
  static locale_t c_locale() noexcept {
    static locale_t const made = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return made;  // null, if there was no memory: then uselocale changes nothing
  }
  locale_t before_;
};

}  // namespace

int device_printf(grid_hooks const& hooks, char const* format, std::va_list arguments) {
  if (format == nullptr) { return -1; }
  in_c_locale const scope;
  std::va_list again;
  va_copy(again, arguments);
  char on_stack[512];  // small, because fibers have small stacks
  int const length = std::vsnprintf(on_stack, sizeof on_stack, format, arguments);
  std::unique_ptr<char[]> on_heap;
  char const* text = on_stack;
  if (length >= static_cast<int>(sizeof on_stack)) {
    std::size_t const bytes = static_cast<std::size_t>(length) + 1;
    on_heap.reset(new (std::nothrow) char[bytes]);
    if (on_heap) { std::vsnprintf(on_heap.get(), bytes, format, again); }
    text = on_heap.get();
  }
  va_end(again);
  if (length < 0 || text == nullptr) { return -2; }
  hooks.print(hooks.user, text, static_cast<std::size_t>(length));
  return arguments_asked_for(format);
}

}  // namespace flotilla::cpu_driver
