// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <protozero/exception.hpp>

#include "trace_packets.hpp"

namespace tool {
namespace {

/// Makes slices and arrows of events.
class builder {
 public:
  explicit builder(trace_model& made) : made_(made) {}

  void add(packet_event& event) {
    switch (event.type) {
      case packet_event::types::begin: return begin(event);
      case packet_event::types::end: return end(event);
      case packet_event::types::instant: return instant(event);
      case packet_event::types::counter:
        made_.counters[event.track].push_back({event.when, event.counter});
        return;
    }
  }
  /// Adds the arrows whose ends come before their begins, because clocks of ranks are not exact.
  void finish() {
    for (auto const& [flow, to] : early_) { arrow_of(flow, to, false); }
  }

 private:
  using directions = packet_event::directions;

  void begin(packet_event& event) {
    std::size_t const index = made_.slices.size();
    trace_slice& slice = made_.slices.emplace_back();
    slice.track = event.track;
    slice.name = std::move(event.name);
    slice.category = std::move(event.category);
    slice.begin = slice.end = event.when;
    slice.values = std::move(event.values);
    slice.kernel = event.texts["kernel"];
    open_[event.track].push_back(index);
    if (event.direction == directions::in_out) {
      if (auto const found = submits_.find(event.bind); found != submits_.end()) {
        slice.submitted = found->second;
      }
      tasks_[event.bind] = index;
    }
    if (event.flow != 0) { flows_[event.flow] = index; }
  }
  void end(packet_event const& event) {
    std::vector<std::size_t>& open = open_[event.track];
    if (open.empty()) { return; }
    std::size_t const index = open.back();
    made_.slices[index].end = event.when;
    open.pop_back();
    if (event.direction == directions::in) { arrow(event.bind, index); }
    if (event.ending_flow != 0) { arrow_of(event.ending_flow, index, true); }
  }
  void instant(packet_event const& event) {
    if (event.direction == directions::out) { submits_[event.bind] = event.when; }
    if (event.direction == directions::in && !open_[event.track].empty()) {
      arrow(event.bind, open_[event.track].back());
    }
    if (event.name == "clock") { clock(event); }
    if (event.name == "end of trace") {
      ++made_.origin.parts;
      made_.tasks += value(event, "tasks");
      made_.dropped += value(event, "dropped_events");
      made_.unfinished += value(event, "unfinished_tasks");
      made_.every = std::max(made_.every, value(event, "every"));
    }
  }
  /// Of several clusters of the runtime, the first one counts.
  void clock(packet_event const& event) {
    trace_origin& origin = made_.origin;
    auto const rank = static_cast<int>(value(event, "rank"));
    std::uint64_t const run = value(event, "run");
    if (origin.rank < 0) { origin.rank = rank; }
    if (origin.run == 0) { origin.run = run; }
    if (run == 0 || rank != origin.rank || run != origin.run) { return; }
    auto const round = static_cast<std::int64_t>(value(event, "round_ns"));
    auto const there = static_cast<std::int64_t>(value(event, "rank0_ns"));
    origin.answers.push_back({event.when - round, event.when, there});
  }
  [[nodiscard]] static std::uint64_t value(packet_event const& event, char const* of) {
    auto const found = event.values.find(of);
    return found == event.values.end() ? 0 : found->second;
  }
  void arrow(std::uint64_t from, std::size_t to) {
    // The predecessor may be missing: it was not chosen, was dropped, or ended before the trace.
    if (auto const found = tasks_.find(from); found != tasks_.end() && found->second != to) {
      made_.arrows.push_back({found->second, to});
    }
  }
  /// Adds an arrow that came as a flow.
  void arrow_of(std::uint64_t flow, std::size_t to, bool may_come_later) {
    if (auto const found = flows_.find(flow); found != flows_.end()) {
      made_.arrows.push_back({found->second, to});
    } else if (may_come_later) {
      early_.emplace_back(flow, to);
    }
  }

  trace_model& made_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;    // slices, by track
  std::map<std::uint64_t, std::int64_t> submits_;             // by number of the task
  std::map<std::uint64_t, std::size_t> tasks_;                // slices, by number of the task
  std::map<std::uint64_t, std::size_t> flows_;                // slices, by flow
  std::vector<std::pair<std::uint64_t, std::size_t>> early_;  // flows, and slices at their ends
};

}  // namespace

std::string bytes_of(std::filesystem::path const& file) {
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed)) {
    throw std::runtime_error("'" + file.string() + "' is a folder and no trace");
  }
  std::ifstream in{file, std::ios::binary};
  if (!in) {
    throw std::runtime_error("the trace '" + file.string() +
                             "' cannot be opened: " + std::generic_category().message(errno));
  }
  return {std::istreambuf_iterator<char>{in}, {}};
}

trace_model read_trace(std::filesystem::path const& file) {
  return decode_trace(bytes_of(file), file);
}

trace_model decode_trace(std::string const& bytes, std::filesystem::path const& file) {
  std::string const name = "'" + file.string() + "'";
  if (bytes.empty()) { throw std::runtime_error(name + " is empty, and so no trace"); }
  // A trace is a list of packets, so its first byte is the tag of a packet.
  constexpr char tag_of_packet = 0x0a;
  if (bytes[0] != tag_of_packet) {
    throw std::runtime_error(name + " is no trace: it does not begin with a packet of Perfetto");
  }
  decoded_packets decoded;
  try {
    decoded = decode_packets(bytes);
  } catch (protozero::exception const& why) {
    throw std::runtime_error(name + " is no trace, or is cut off after " +
                             std::to_string(bytes.size()) + " bytes (" + why.what() + ")");
  } catch (std::runtime_error const& why) {
    throw std::runtime_error(name + " is no trace of flotilla: " + why.what());
  }
  // Slices are written when they have ended, so the events are not in the order of their times.
  std::stable_sort(decoded.events.begin(), decoded.events.end(),
                   [](auto const& a, auto const& b) { return a.when < b.when; });
  trace_model made;
  made.origin.begun = decoded.begun;
  made.tracks = std::move(decoded.tracks);
  builder events{made};
  for (packet_event& each : decoded.events) { events.add(each); }
  events.finish();
  if (made.origin.parts == 0) {
    throw std::runtime_error(name + (made.slices.empty()
                                         ? " is no trace of flotilla: it has no tasks and no end"
                                         : " is cut off: its last event is missing, because the "
                                           "program ended before the trace"));
  }
  std::sort(made.arrows.begin(), made.arrows.end());
  return made;
}

}  // namespace tool
