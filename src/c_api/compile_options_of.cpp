// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/compile_options_of.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "c_api/call.hpp"

namespace flotilla::c_api {

namespace {

template <class T>
void add_all(char const* const* list, std::vector<T>& to) {
  for (; list != nullptr && *list != nullptr; ++list) { to.emplace_back(*list); }
}

template <class T>
void set_if(char const* given, T& to) {
  if (given != nullptr) { to = given; }
}

}  // namespace

compile_options compile_options_of(flotilla_compile_options const& given) {
  check_size(given, "flotilla_compile_options");
  if (given.log != nullptr && given.log_bytes == 0) {
    throw refused_call(FLOTILLA_INVALID_ARGUMENT,
                       "'options->log' is not null, but 'options->log_bytes' is 0");
  }
  compile_options made;
  set_if(given.name, made.name);
  add_all(given.defines, made.defines);
  add_all(given.include_directories, made.include_directories);
  add_all(given.name_expressions, made.name_expressions);
  add_all(given.gpu_options, made.gpu_options);
  add_all(given.cpu_options, made.cpu_options);
  if (given.standard != 0) { made.standard = given.standard; }
  made.fast_math = given.fast_math != 0;
  made.fused = given.no_twins == 0;
  made.cache = given.no_cache == 0;
  set_if(given.cache_directory, made.cache_directory);
  if (given.cache_bytes != 0) { made.cache_bytes = given.cache_bytes; }
  set_if(given.cpu_compiler, made.cpu_compiler);
  set_if(given.nvrtc, made.nvrtc);
  if (given.timeout_ns != 0) {
    // Rounded up by hand, because a sum could overflow.
    std::uint64_t const whole = given.timeout_ns / 1000000;
    std::uint64_t const rest = given.timeout_ns % 1000000 != 0 ? 1 : 0;
    made.timeout = std::chrono::milliseconds{whole + rest};
  }
  return made;
}

void write_log(flotilla_compile_options const& to, std::string_view log) noexcept {
  if (to.log == nullptr) { return; }
  std::size_t const length = std::min(log.size(), to.log_bytes - 1);
  log.copy(to.log, length);
  to.log[length] = '\0';
}

}  // namespace flotilla::c_api
