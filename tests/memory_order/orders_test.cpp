// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Explores the scenarios, first with the code as it is, and then with each memory order weakened.

#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "memory_order/memory.hpp"
#include "memory_order/subjects.hpp"

namespace flotilla::test::memory_order {
namespace {

constexpr std::array order_names{"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};

/// The beginnings of lines whose orders no scenario needs. A new line must not be here without a
/// reason.
constexpr std::array not_necessary{
    // The fences of the handshake suffice. But deadlock_detector, event_source and waiting threads
    // read these words, too.
    "dispatch/queue/device_inbound.hpp: !pending_.exchange(",
    "dispatch/queue/device_inbound.hpp: pending_.store(false",
    "dispatch/queue/device_inbound.hpp: return pending_.load(",
    "dispatch/queue/device_inbound.hpp: return backlog_.load(",
    "dispatch/queue/device_inbound.hpp: void set_backlog(",
    "dispatch/queue/shared_queue.hpp: pending_.store(false",
    "dispatch/queue/shared_queue.hpp: return pending_.load(",
    "dispatch/queue/shared_queue.hpp: void set_pending()",
    // A mutex orders what the word is about. The word saves the lock if there is nothing to do.
    "dispatch/queue/device_inbound.cpp: if (max_requeued_level_.load(",
    "dispatch/queue/device_inbound.cpp: max_requeued_level_.store(highest",
    "dispatch/queue/inbox_registry.cpp: if (std::erase_if(",
    "dispatch/queue/inbox_registry.cpp: if (version_.load(",
    "dispatch/queue/inbox_registry.cpp: version_.fetch_add(",
    "dispatch/task/epoch_reclaimer.hpp: count_.store(",
    "dispatch/task/epoch_reclaimer.hpp: return count_.load(",
    "dispatch/task/epoch_reclaimer.hpp: return epoch_.fetch_add(",
    "dispatch/task/epoch_reclaimer.hpp: std::uint64_t oldest = epoch_.load(",
    // If a thread that waits for the lease leaves, the holder at worst notifies nobody.
    "context/lease.cpp: takers_.fetch_sub(",
    // A read-modify-write reads the latest value. So a request for an earlier task fails.
    "dispatch/submission/slot_encoding.hpp: task.starting.store(false",
    "dispatch/task/cancellation.hpp: bool const is_starting = ",
    "dispatch/task/cancellation.hpp: std::uint64_t word = task.generation.load(",
    "dispatch/task/cancellation.hpp: if (task.generation.compare_exchange_strong(word, changed",
    "dispatch/task/cancellation.hpp: if (task.generation.compare_exchange_weak(word, cancelled",
    "dispatch/task/cancellation.hpp: if (task.generation.compare_exchange_weak(word, now.with(",
    // A new block of slots holds zeros. So it needs no initialization that others must see.
    "dispatch/task/slot_pool.cpp: !head_->touched.compare_exchange_weak(",
    "dispatch/task/slot_pool.cpp: std::uint32_t const blocks = head_->touched.load(",
    "dispatch/task/slot_pool.hpp: return std::min(head_->touched.load(",
    // What a slot contains passes from the thread that gives it back to the thread that takes it,
    // through the slot's own bit. `held` says only who may take bits.
    "dispatch/task/slot_pool.cpp: !words_[mine.block_].word.compare_exchange_weak(",
    "dispatch/task/slot_pool.cpp: std::uint64_t const before = words_[mine.block_].word.fetch_and(",
};

/// The operations that one line of the library contains, wherever the compiler has inlined it.
struct line {
  std::string place;  // file:line
  char kind;
  bool is_failure;
  int order;
  auto operator<=>(line const&) const = default;
};

/// Returns where this program was loaded.
std::uintptr_t load_address() {
  std::uintptr_t found = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<std::uintptr_t*>(to) = info->dlpi_addr;
        return 1;  // the first one is the program
      },
      &found);
  return found;
}

/// Returns the innermost line of the library for each address.
std::map<void const*, std::string> places_of(std::set<void const*> const& callers) {
  std::string command = FLOTILLA_ADDR2LINE " -i -a -e /proc/" + std::to_string(::getpid()) + "/exe";
  std::uintptr_t const before = load_address() + 1;  // the caller is the instruction after the call
  for (void const* const each : callers) {
    char text[32];
    std::snprintf(text, sizeof text, " %#lx", reinterpret_cast<std::uintptr_t>(each) - before);
    command += text;
  }
  std::map<void const*, std::string> found;
  FILE* const output = ::popen(command.c_str(), "r");
  void const* now = nullptr;
  for (char text[4096]; std::fgets(text, sizeof text, output) != nullptr;) {
    std::string at{text};
    at = at.substr(0, at.find_first_of("\n "));
    if (at.starts_with("0x")) {
      now = reinterpret_cast<void const*>(std::stoull(at, nullptr, 16) + before);
    } else if (std::size_t const in = at.rfind("/src/");
               !at.starts_with("/usr/") && in != at.npos && !found.contains(now)) {
      found[now] = at.substr(in + 5);
    }
  }
  ::pclose(output);
  return found;
}

/// Returns a line of the library, such as "dispatch/queue/inbox.hpp: void unclaim() …".
std::string text_of(std::string const& place) {
  std::size_t const colon = place.rfind(':');
  std::ifstream in{FLOTILLA_SOURCE_DIR "/src/" + place.substr(0, colon)};
  std::string text;
  for (int number = std::stoi(place.substr(colon + 1)); number > 0; --number) {
    std::getline(in, text);
  }
  return place.substr(0, colon) + ": " +
         text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

/// Returns the entry of `not_necessary` for this text of a line; null if there is none.
char const* known(std::string const& text) {
  auto const found = std::find_if(not_necessary.begin(), not_necessary.end(),
                                  [&](char const* each) { return text.starts_with(each); });
  return found == not_necessary.end() ? nullptr : *found;
}

// requirement: the code is right in all executions. With a relaxed order instead of any other
// order, some execution is wrong. Otherwise the order is unnecessary, or a scenario is missing.
TEST(MemoryOrder, EachOrderIsRightAndNecessary) {
  std::map<line, std::map<std::size_t, std::vector<site>>> lines;
  std::set<void const*> callers;
  std::vector<exploration> found;
  for (subject const& each : subjects()) {
    found.push_back(explore(each.what, {}, each.at_most));
    EXPECT_EQ(found.back().wrong, "") << each.name << ": " << found.back();
    EXPECT_TRUE(found.back().complete) << each.name;
    std::printf("%-45s %7zu executions\n", each.name.c_str(), found.back().executions);
    std::fflush(stdout);
    for (site const& one : found.back().sites) { callers.insert(one.caller); }
  }
  auto const places = places_of(callers);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (site const& one : found[i].sites) {
      if (auto const at = places.find(one.caller); at != places.end()) {
        lines[{at->second, one.kind, one.is_failure, one.order}][i].push_back(one);
      }
    }
  }
  EXPECT_GT(lines.size(), 20u);
  // FLOTILLA_TEST_LINE=inbox.hpp:57 tries only this line, `none` tries no line, and an empty text
  // tries all of them.
  char const* const only = std::getenv("FLOTILLA_TEST_LINE");
  std::set<std::string> used;
  for (auto const& [where, by_subject] : lines) {
    char const* const entry = known(text_of(where.place));
    if (entry != nullptr) { used.insert(entry); }
    if (only != nullptr ? !where.place.ends_with(only) : entry != nullptr) { continue; }
    std::string wrong;
    for (auto const& [index, all] : by_subject) {
      subject const& each = subjects()[index];
      if (wrong.empty()) { wrong = explore(each.what, {all, relaxed}, each.at_most).wrong; }
    }
    std::printf("%s %c%s %s: %s\n", where.place.c_str(), where.kind,
                where.is_failure ? " (failure)" : "",
                order_names[static_cast<std::size_t>(where.order)],
                wrong.empty() ? "not necessary" : wrong.c_str());
    std::fflush(stdout);
    EXPECT_NE(wrong, "") << "nothing goes wrong if this order is relaxed: " << text_of(where.place);
  }
  for (char const* const each : not_necessary) {
    EXPECT_TRUE(only != nullptr || used.contains(each))
        << "there is no such line any more: " << each;
  }
}

}  // namespace
}  // namespace flotilla::test::memory_order
