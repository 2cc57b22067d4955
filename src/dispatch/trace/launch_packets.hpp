// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The packets of a launch, prepared, so that each task costs a copy and a few numbers.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace flotilla::dispatch {

/// Appends the packets of launches of one kernel that have nothing special: no label, no
/// predecessors, no failure. Each launch has an instant `submit`, and the begin and the end of its
/// slice. Only the numbers in `values` differ, so the packets are copied from a template, and the
/// numbers are written over it. In the template, each number has as many bytes as the largest one
/// so far needed. Protobuf allows numbers with more bytes than they need.
class launch_packets {
 public:
  /// The numbers of texts.
  struct texts {
    std::uint64_t kernel, submit;  // names of events
    std::uint64_t category;
    std::uint64_t queue, run;  // names of values
  };
  struct values {
    std::uint64_t submitted = 0, from = 0, ended = 0;  // nanoseconds since the begin of the trace
    std::uint64_t thread = 0, row = 0;                 // tracks
    std::uint64_t number = 0;                          // of the task
    std::uint64_t queue = 0, run = 0;                  // nanoseconds
  };

  explicit launch_packets(texts const& named) noexcept : texts_(named) {}
  void append(values const& of, std::string& to);

 private:
  enum number : unsigned { time, track, task, duration, numbers };
  struct place {
    std::uint8_t offset;
    std::uint8_t width;
    // The 8 bytes of the template from the offset on, without the number: the continuation bits of
    // the number, and what comes behind it.
    std::uint64_t around;
  };
  class writer;

  void build();
  static void put(place const& where, std::uint64_t value, char* packets) noexcept;

  texts const texts_;
  // What the template has room for: all numbers of a kind are below these bounds. 0: not built.
  std::array<std::uint64_t, numbers> bounds_{};
  std::array<std::uint8_t, numbers> widths_{};
  std::array<place, 10> places_{};  // in the order of `append`, and of their offsets
  std::size_t size_ = 0;
  std::array<char, 256> bytes_{};
};

}  // namespace flotilla::dispatch
