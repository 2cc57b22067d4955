// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/slow_waits.hpp"

#include <algorithm>
#include <cstdint>
#include <ratio>

#include "base/log.hpp"

namespace flotilla::dispatch {

namespace {

constexpr std::chrono::milliseconds shortest_interval{1};
constexpr std::size_t max_named = 3;  // tasks in a report

}  // namespace

slow_waits::sleep::sleep(slow_waits& of, slot_address awaited) noexcept
    : of_(of), wait_{"a wait", clock::now(), awaited} {
  std::lock_guard const lock{of_.mutex_};
  of_.sleeps_.push_back(*this);
}

slow_waits::sleep::~sleep() {
  std::lock_guard const lock{of_.mutex_};
  of_.sleeps_.erase(of_.sleeps_.iterator_to(*this));
}

slow_waits::clock::duration slow_waits::interval() const noexcept {
  return std::max<clock::duration>(first_limit_ / 4, shortest_interval);
}

void slow_waits::look_at(wait& one) noexcept {
  if (is_due(one)) { report(one); }
}

bool slow_waits::is_due(wait& one) noexcept {
  if (!is_active() || one.is_reported) { return false; }
  clock::duration const age = clock::now() - one.begun;
  clock::duration::rep limit = limit_.load(std::memory_order_relaxed);
  if (age.count() <= (one.is_end ? first_limit_.count() : limit)) { return false; }
  // If another thread has reported its wait meanwhile, this one is reported after the new limit.
  if (!one.is_end && !limit_.compare_exchange_strong(limit, age.count() * 2)) { return false; }
  one.is_reported = true;
  return true;
}

void slow_waits::report(wait const& one) const noexcept {
  // printf would write a fraction with the decimal point of the program's locale.
  using tenths_of_s = std::chrono::duration<std::intmax_t, std::deci>;
  std::intmax_t const tenths =
      std::chrono::duration_cast<tenths_of_s>(clock::now() - one.begun).count();
  try {
    base::log_format(log_level::warning,
                     "%s has lasted %jd.%jd s and goes on: %s "
                     "(runtime_options::report_waits_longer_than)",
                     one.what, tenths / 10, tenths % 10, describe(one).c_str());
  } catch (...) {  // no memory for the text
    base::log_format(log_level::warning, "%s has lasted %jd.%jd s and goes on", one.what,
                     tenths / 10, tenths % 10);
  }
}

void slow_waits::look_at_sleeps() noexcept {
  std::optional<wait> due;  // after the report of one, the limit is too long for the others
  {
    std::lock_guard const lock{mutex_};
    for (sleep& each : sleeps_) {
      if (is_due(each.wait_)) { due = each.wait_; }
    }
  }
  if (due) { report(*due); }
}

std::string slow_waits::describe(wait const& one) const {
  if (!one.awaited) { return "it waits for " + describe_open(); }
  std::string text = "it waits for " + describe(*one.awaited);
  if (!is_on_device(*one.awaited)) { text += ", which is behind " + describe_open(); }
  return text;
}

std::string slow_waits::describe_open() const {
  std::string text;
  for (bool const on_device : {true, false}) {
    std::size_t named = 0;
    tasks_.for_each_open([&](slot_address task) {
      if (is_on_device(task) != on_device) { return true; }
      if (named == max_named) {
        text += "; and others";
        return false;
      }
      text += (named++ == 0 ? "" : "; ") + describe(task);
      return true;
    });
    if (!text.empty()) { return text; }
  }
  return "a continuation";  // no task is open
}

std::string slow_waits::describe(slot_address task) const {
  std::uint32_t const device = tasks_.at(task).device.load(std::memory_order_relaxed);
  return text_.describe(task,
                        device == 0 ? "on no device yet" : "device " + std::to_string(device - 1));
}

bool slow_waits::is_on_device(slot_address task) const noexcept {
  end_mark const mark{tasks_.at(task).end.load(std::memory_order_acquire)};
  return mark.valid() && !board_.reached(mark);
}

}  // namespace flotilla::dispatch
