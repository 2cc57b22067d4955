// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <flotilla/error/error.hpp>

namespace flotilla {
namespace base {

namespace {

constexpr std::array<std::string_view, 4> names{"error", "warning", "info", "debug"};
constexpr char variable[] = "FLOTILLA_LOG";
constexpr int not_set = -1;
constexpr int not_read = -2;

// These live longer than all other objects, because destructors at the end of the process write
// messages. Orders are relaxed: a level guards no other data.
constinit std::atomic<int> level_of_program{not_set};
constinit std::atomic<int> level_of_environment{not_read};
// A handler is never freed, because another thread may be calling it.
constinit std::atomic<log_handler const*> current_handler{nullptr};

std::optional<log_level> find_level(std::string_view text) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) { return static_cast<log_level>(i); }
  }
  return {};
}

/// @return a level, or not_set
int environment_level() noexcept {
  int level = level_of_environment.load(std::memory_order_relaxed);
  if (level == not_read) {
    char const* const text = std::getenv(variable);
    std::optional<log_level> const found = text == nullptr ? std::nullopt : find_level(text);
    level = found ? static_cast<int>(*found) : not_set;
    level_of_environment.store(level, std::memory_order_relaxed);
  }
  return level;
}

/// @return a level, or not_set
int chosen_level() noexcept {
  int const level = level_of_program.load(std::memory_order_relaxed);
  return level != not_set ? level : environment_level();
}

log_message message_now(log_level level, std::string_view text,
                        std::optional<device_ordinal> device) noexcept {
  return {level, std::chrono::system_clock::now(), static_cast<std::uint64_t>(::gettid()), device,
          text};
}

void write(log_message const& message) noexcept {
  // acquire: pairs with the release in set_log_handler
  log_handler const* const handler = current_handler.load(std::memory_order_acquire);
  try {
    if (handler != nullptr && *handler) {
      (*handler)(message);
      return;
    }
    std::string const line = log_line(message, chosen_level() != not_set);
    std::fwrite(line.data(), 1, line.size(), stderr);  // one call, so that lines do not mix
  } catch (...) {
    if (handler != nullptr) { return; }
    // No memory for the line. These calls need none.
    std::fputs("flotilla: ", stderr);
    std::fwrite(message.text.data(), 1, message.text.size(), stderr);
    std::fputc('\n', stderr);
  }
}

}  // namespace

bool is_logged(log_level level) noexcept {
  int const chosen = chosen_level();
  return static_cast<int>(level) <=
         (chosen == not_set ? static_cast<int>(log_level::warning) : chosen);
}

void log(log_level level, std::string_view text, std::optional<device_ordinal> device) noexcept {
  if (is_logged(level)) { write(message_now(level, text, device)); }
}

void log_format(log_level level, char const* format, ...) noexcept {
  if (!is_logged(level)) { return; }
  std::va_list arguments;
  va_start(arguments, format);
  std::va_list again;
  va_copy(again, arguments);
  // Most texts fit, so that a message about a lack of memory needs none.
  std::array<char, 1024> small;
  int const length = std::vsnprintf(small.data(), small.size(), format, arguments);
  auto const bytes = static_cast<std::size_t>(length > 0 ? length : 0);
  if (bytes < small.size()) {
    log(level, {small.data(), bytes});
  } else {
    try {
      std::string text(bytes, '\0');
      std::vsnprintf(text.data(), bytes + 1, format, again);
      log(level, text);
    } catch (std::bad_alloc const&) { log(level, {small.data(), small.size() - 1}); }
  }
  va_end(again);
  va_end(arguments);
}

void explain(std::string_view text) noexcept { write(message_now(log_level::info, text, {})); }

void check_log_environment() {
  if (char const* const text = std::getenv(variable); text != nullptr && *text != '\0') {
    try {
      static_cast<void>(parse_log_level(text));
    } catch (unknown_setting const& wrong) {
      throw unknown_setting("environment variable " + std::string{variable} + ": " + wrong.what());
    }
  }
}

std::string log_line(log_message const& message, bool with_details) {
  std::string line = "flotilla: ";
  if (with_details) {
    auto const since = message.time.time_since_epoch();
    std::time_t const seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 64> head{};
    std::snprintf(
        head.data(), head.size(), "%02d:%02d:%02d.%06ld %s, thread %llu", parts.tm_hour,
        parts.tm_min, parts.tm_sec,
        static_cast<long>(std::chrono::duration_cast<std::chrono::microseconds>(since).count() %
                          1000000),
        to_string(message.level).data(), static_cast<unsigned long long>(message.thread));
    line += head.data();
    if (message.device) { line += ", device " + std::to_string(message.device->value); }
    line += ": ";
  }
  line += message.text;
  line += '\n';
  return line;
}

}  // namespace base

inline namespace v0_1 {

std::string_view to_string(log_level level) noexcept {
  auto const index = static_cast<std::size_t>(level);
  return index < base::names.size() ? base::names[index] : "unknown";
}

log_level parse_log_level(std::string_view text) {
  if (auto const found = base::find_level(text)) { return *found; }
  throw unknown_setting("'" + std::string{text} +
                        "' is not a level of the log; the levels are error, warning, info, debug");
}

void set_log_level(log_level level) noexcept {
  base::level_of_program.store(static_cast<int>(level), std::memory_order_relaxed);
}

log_level current_log_level() noexcept {
  int const chosen = base::chosen_level();
  return chosen == base::not_set ? log_level::warning : static_cast<log_level>(chosen);
}

void set_log_handler(log_handler handler) {
  // The list keeps every handler, so that a leak checker finds them.
  static auto& kept = *new std::vector<std::unique_ptr<log_handler const>>;
  static auto& mutex = *new std::mutex;
  auto made = std::make_unique<log_handler const>(std::move(handler));
  std::lock_guard const lock(mutex);
  kept.push_back(std::move(made));
  // release: pairs with the acquire in write, which reads the handler
  base::current_handler.store(kept.back().get(), std::memory_order_release);
}

}  // namespace v0_1
}  // namespace flotilla
