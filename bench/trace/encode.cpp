// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "encode.hpp"

#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "dispatch/trace/trace_encoder.hpp"
#include "dispatch/trace/tracer.hpp"

namespace flotilla::bench {

namespace {

using dispatch::launch_entry;
using dispatch::launches_record;
using dispatch::record_kind;
using dispatch::task_record;
using dispatch::words_of;

constexpr std::size_t batch_tasks = 64;

/// The processor time of the calling thread.
std::chrono::nanoseconds time_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

/// The records of one batch, as words one behind the other.
class batch {
 public:
  batch(encoded what, std::int64_t begun) : begun_{begun} {
    if (what == encoded::batches) {
      add_group();
    } else {
      for (std::size_t i = 0; i < batch_tasks; ++i) { add_task(what, i); }
    }
  }
  /// Encodes the batch, and moves it to a later time.
  void encode(dispatch::trace_encoder& to, std::int64_t distance) {
    for (auto& each : records_) {
      to.add(each);
      dispatch::record_head head;
      std::memcpy(static_cast<void*>(&head), each.data(), sizeof head);
      // The times are the words behind the head, or behind the number of the task.
      bool const is_task = head.kind == record_kind::task;
      for (std::size_t i = is_task ? 2 : 1; i < (is_task ? 6u : 4u); ++i) {
        each[i] += static_cast<std::uint64_t>(distance);
      }
    }
  }

 private:
  static constexpr std::int64_t length = 5000;  // ns
  [[nodiscard]] static std::uint64_t number_of(std::size_t index) noexcept {
    return (std::uint64_t{1234} << 24) + index;
  }

  void add_group() {
    std::size_t const first = words_of<launches_record>;
    std::vector<std::uint64_t> words(first + batch_tasks * words_of<launch_entry>);
    launches_record const common{
        .head = {1, static_cast<std::uint16_t>(words.size()), record_kind::launches},
        .launched = begun_,
        .begun = begun_,
        .ended = begun_ + length};
    std::memcpy(words.data(), &common, sizeof common);
    for (std::size_t i = 0; i < batch_tasks; ++i) {
      launch_entry const entry{number_of(i), 20'000 + 100 * i, 0};
      std::memcpy(words.data() + first + i * words_of<launch_entry>, &entry, sizeof entry);
    }
    records_.push_back(std::move(words));
  }
  void add_task(encoded what, std::size_t index) {
    std::string_view const label = what == encoded::labels ? "a label of a task" : "";
    task_record record{
        .number = number_of(index),
        .submitted = begun_ - 20'000,
        .launched = begun_,
        .begun = begun_,
        .ended = begun_ + length,
        .from_device = task_record::no_device,
        .predecessors = static_cast<std::uint16_t>(what == encoded::predecessors ? 3 : 0),
        .kind = dispatch::task_kind::launch,
        .label_bytes = static_cast<std::uint8_t>(label.size())};
    std::size_t const label_words = (label.size() + 7) / 8;
    std::vector<std::uint64_t> words(words_of<task_record> + record.predecessors + label_words);
    record.head = {1, static_cast<std::uint16_t>(words.size()), record_kind::task};
    std::memcpy(words.data(), &record, sizeof record);
    for (std::size_t i = 0; i < record.predecessors; ++i) {
      words[words_of<task_record> + i] = number_of(index + i);
    }
    std::memcpy(words.data() + words.size() - label_words, label.data(), label.size());
    records_.push_back(std::move(words));
  }

  std::int64_t const begun_;
  std::vector<std::vector<std::uint64_t>> records_;
};

}  // namespace

encoder_cost measure_encoder(encoded what, std::size_t tasks) {
  dispatch::trace_encoder encoder{{.devices = {"a device"},
                                   .kernel = [](std::uint32_t) { return "nothing"; },
                                   .lane = [](unsigned) { return "launches 0"; }}};
  encoder.add_thread(0, 1, "a thread");
  std::vector<batch> batches;
  constexpr std::int64_t between = 6000;  // ns
  constexpr std::size_t count_of_batches = 64;
  for (std::size_t i = 0; i < count_of_batches; ++i) {
    batches.emplace_back(what, dispatch::tracer::now() + static_cast<std::int64_t>(i) * between);
  }
  std::size_t bytes = 0;
  std::chrono::nanoseconds const begun = time_of_thread();
  for (std::size_t done = 0; done < tasks; done += batch_tasks) {
    batches[done / batch_tasks % count_of_batches].encode(encoder, count_of_batches * between);
    if (encoder.bytes().size() >= std::size_t{1} << 20) {  // as the writer of a trace does
      bytes += encoder.bytes().size();
      encoder.bytes().clear();
    }
  }
  std::chrono::nanoseconds const took = time_of_thread() - begun;
  bytes += encoder.bytes().size();
  auto const count = static_cast<double>(encoder.tasks());
  return {static_cast<double>(took.count()) / count, static_cast<double>(bytes) / count};
}

}  // namespace flotilla::bench
