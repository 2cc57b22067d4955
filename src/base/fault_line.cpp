// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/fault_line.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <thread>

namespace flotilla::base {

namespace {

constexpr std::size_t max_describers = 64;
std::array<std::atomic<fault_describer const*>, max_describers> describers{};
std::atomic<int> users{0};  // signal handlers that ask a describer now

}  // namespace

fault_line& fault_line::add(std::string_view text) noexcept {
  std::size_t const bytes = std::min(text.size(), text_.size() - 1 - size_);
  std::memcpy(text_.data() + size_, text.data(), bytes);
  size_ += bytes;
  return *this;
}

fault_line& fault_line::add(std::uint64_t number, unsigned radix) noexcept {
  std::array<char, 24> digits{};
  auto const [end, failed] =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, static_cast<int>(radix));
  return add({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void fault_line::write() noexcept {
  text_[size_] = '\n';  // `add` leaves room for it
  // Nothing can be done if stderr is closed or full.
  [[maybe_unused]] auto const written = ::write(STDERR_FILENO, text_.data(), size_ + 1);
}

void add_fault_describer(fault_describer const& which) noexcept {
  for (auto& each : describers) {
    fault_describer const* none = nullptr;
    // release: pairs with the acquire in describe_fault
    if (each.compare_exchange_strong(none, &which, std::memory_order_release,
                                     std::memory_order_relaxed)) {
      return;
    }
  }
}

void remove_fault_describer(fault_describer const& which) noexcept {
  for (auto& each : describers) {
    fault_describer const* held = &which;
    // seq_cst, here and in describe_fault: either the handler finds the entry gone, or this thread
    // sees that the handler uses it
    if (each.compare_exchange_strong(held, nullptr)) { break; }
  }
  while (users.load() != 0) { std::this_thread::yield(); }
}

bool describe_fault(std::string_view kernel, int device, fault_line& line) noexcept {
  users.fetch_add(1);
  bool const is_found = std::any_of(describers.begin(), describers.end(), [&](auto const& each) {
    fault_describer const* const one = each.load();
    return one != nullptr && one->describe(kernel, device, line);
  });
  users.fetch_sub(1);
  return is_found;
}

}  // namespace flotilla::base
