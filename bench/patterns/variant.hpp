// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A variant: one way to run a graph of dependent tasks.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "task_graph.hpp"

namespace flotilla::bench {

class variant {
 public:
  variant() = default;
  variant(variant const&) = delete;
  variant& operator=(variant const&) = delete;
  virtual ~variant() = default;

  /// Returns the reason why this variant cannot run on this machine, or an empty text.
  [[nodiscard]] virtual std::string why_not() const { return {}; }
  /// Prepares for runs of `graph`, which must exist until the next call. This time is not measured.
  virtual void prepare(task_graph const& graph) = 0;
  /// Overwrites the values of all tasks, so that no value of an earlier run remains.
  virtual void clear() = 0;
  /// Runs the graph once and waits until all tasks have ended. This call is measured.
  virtual void run() = 0;
  /// Copies the values that the tasks wrote.
  virtual void read(std::vector<std::uint64_t>& values) = 0;
};

/// A byte of the values before a run. No expected value consists of such bytes.
inline constexpr unsigned char cleared_byte = 0xa5;

/// The name of a variant in tables, reports and options, and what it does in words.
struct variant_name {
  char const* id;
  char const* text;
};
/// All variants. The first one is flotilla, and the third one is the control of the ratios.
[[nodiscard]] std::vector<variant_name> const& all_variants();
inline constexpr char const* flotilla_variant = "flotilla";
inline constexpr char const* control_variant = "streams";

class flotilla_devices;
class driver_devices;
[[nodiscard]] std::unique_ptr<variant> make_submit_variant(flotilla_devices& devices);
[[nodiscard]] std::unique_ptr<variant> make_recording_variant(flotilla_devices& devices);
[[nodiscard]] std::unique_ptr<variant> make_stream_variant(driver_devices& devices);
/// @param relaunched  If true, `prepare` builds the graph. If false, every run builds the graph.
[[nodiscard]] std::unique_ptr<variant> make_graph_variant(driver_devices& devices, bool relaunched);

}  // namespace flotilla::bench
