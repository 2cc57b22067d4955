// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_report.hpp"

#include <algorithm>
#include <iomanip>
#include <iterator>
#include <map>
#include <ostream>
#include <sstream>

#include "table.hpp"

namespace tool {
namespace {

/// A time in milliseconds.
std::string in_ms(std::int64_t ns) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(3) << static_cast<double>(ns) / 1e6;
  return text.str();
}

std::string name_of(trace_slice const& slice) {
  return slice.name + (slice.kernel.empty() ? "" : " (" + slice.kernel + ")") +
         (slice.value("failed") != 0 ? ", failed" : "") +
         (is_unfinished(slice) ? ", unfinished" : "");
}

/// Adds the rank to a name, if the trace was merged from those of several ranks.
std::string with_part(trace_model const& trace, trace_slice const& slice, std::string const& name) {
  std::string const part = trace.part_of(slice.track);
  return part.empty() ? name : part + ", " + name;
}

/// The part of the device's name before the colon.
std::string short_device(trace_model const& trace, trace_slice const& slice) {
  std::string const device = device_of(trace, slice);
  return device.empty() ? with_part(trace, slice, "host") : device.substr(0, device.find(':'));
}

std::vector<std::size_t> tasks_of(trace_model const& trace) {
  std::vector<std::size_t> made;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (is_task(trace.slices[i])) { made.push_back(i); }
  }
  return made;
}

void print_waits(std::ostream& out, trace_model const& trace, std::size_t count) {
  out << "\nlongest waits, from the submit to the launch\n";
  table shown{{"submitted at ms", "wait ms", "run ms", "device", "task"}};
  for (std::size_t const i : longest_waits(trace, count)) {
    trace_slice const& one = trace.slices[i];
    shown.add({in_ms(one.submitted), in_ms(static_cast<std::int64_t>(one.value("queue_ns"))),
               in_ms(static_cast<std::int64_t>(one.value("run_ns"))), short_device(trace, one),
               name_of(one)});
  }
  out << shown;
}

void print_path(std::ostream& out, trace_model const& trace, std::size_t count) {
  std::vector<std::size_t> const path = critical_path(trace);
  if (path.empty()) { return; }
  trace_slice const& first = trace.slices[path.front()];
  std::int64_t before = first.submitted < 0 ? first.begin : first.submitted;
  out << "\ncritical path: " << path.size() << (path.size() == 1 ? " task, " : " tasks, ")
      << in_ms(trace.slices[path.back()].end - before) << " ms from a submit to the last end\n";
  table shown{{"ended at ms", "added ms", "quiet ms", "device", "task"}};
  std::vector<std::int64_t> const quiet = quiet_times(trace, path);
  std::size_t const skipped = path.size() > count ? path.size() - count : 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    trace_slice const& one = trace.slices[path[i]];
    if (i >= skipped) {
      // A sender may see the end of a transfer after the receiver.
      std::int64_t const added = std::max<std::int64_t>(one.end - before, 0);
      shown.add({in_ms(one.end), in_ms(added), quiet[i] < 0 ? "-" : in_ms(quiet[i]),
                 short_device(trace, one), name_of(one)});
    }
    before = one.end;
  }
  if (skipped != 0) { out << "(the first " << skipped << " are not shown)\n"; }
  out << shown
      << "quiet: the last part of the added time, in which no thread noticed anything on the "
         "device. "
         "The task ran, or it had ended and no thread looked\n";
}

void print_devices(std::ostream& out, trace_model const& trace) {
  out << "\ndevices, from their first launch to their last end\n";
  table shown{{"device", "busy", "idle ms", "gaps", "longest gap ms", "at ms"}};
  for (device_use const& one : use_of_devices(trace)) {
    std::int64_t const all = one.busy.back().end - one.busy.front().begin;
    std::int64_t const idle = all - one.busy_time();
    std::vector<device_use::period> const gaps = one.idle();
    auto const longest = std::max_element(
        gaps.begin(), gaps.end(),
        [](auto const& a, auto const& b) { return a.end - a.begin < b.end - b.begin; });
    std::int64_t const percent = all == 0 ? 100 : (one.busy_time() * 100 + all / 2) / all;
    shown.add({one.device, std::to_string(percent) + " %", in_ms(idle), std::to_string(gaps.size()),
               gaps.empty() ? "-" : in_ms(longest->end - longest->begin),
               gaps.empty() ? "-" : in_ms(longest->begin)});
  }
  out << shown;
}

}  // namespace

bool is_task(trace_slice const& slice) { return slice.category == "task"; }

bool is_unfinished(trace_slice const& slice) { return slice.value("unfinished") != 0; }

std::string device_of(trace_model const& trace, trace_slice const& slice) {
  std::string const device = trace.above(slice.track, "device ");
  return device.empty() ? device : with_part(trace, slice, device);
}

std::vector<std::size_t> longest_waits(trace_model const& trace, std::size_t count) {
  std::vector<std::size_t> made = tasks_of(trace);
  auto const wait = [&](std::size_t i) { return trace.slices[i].value("queue_ns"); };
  auto const end = made.begin() + static_cast<std::ptrdiff_t>(std::min(count, made.size()));
  std::partial_sort(made.begin(), end, made.end(), [&](std::size_t a, std::size_t b) {
    return wait(a) != wait(b) ? wait(a) > wait(b) : a < b;
  });
  made.erase(end, made.end());
  return made;
}

std::vector<std::size_t> critical_path(trace_model const& trace) {
  auto const ends_before = [&](std::size_t a, std::size_t b) {
    return trace.slices[a].end < trace.slices[b].end;
  };
  std::vector<std::size_t> tasks = tasks_of(trace);
  std::erase_if(tasks, [&](std::size_t i) { return is_unfinished(trace.slices[i]); });
  if (tasks.empty()) { return {}; }
  // Of the tasks that end together, the one that was launched last.
  std::size_t now = tasks.front();
  for (std::size_t const each : tasks) {
    if (!ends_before(each, now)) { now = each; }
  }
  std::map<std::size_t, std::size_t> last_before;  // the predecessor that ended last
  for (trace_arrow const& each : trace.arrows) {
    auto const [found, is_new] = last_before.emplace(each.to, each.from);
    if (!is_new && ends_before(found->second, each.from)) { found->second = each.from; }
  }
  std::vector<std::size_t> path{now};
  // A damaged trace could have a cycle.
  for (auto found = last_before.find(now); found != last_before.end() && path.size() < tasks.size();
       found = last_before.find(found->second)) {
    path.push_back(found->second);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<std::int64_t> quiet_times(trace_model const& trace,
                                      std::vector<std::size_t> const& path) {
  std::map<std::string, std::vector<std::int64_t>> noticed;  // times, by the part of the name
  auto const note = [&](std::string const& device, std::int64_t when) {
    noticed[device].push_back(when);
  };
  for (trace_slice const& each : trace.slices) {
    if (each.category == "drive") {
      // Not its begin: the thread then begins to look.
      note(with_part(trace, each, each.name.substr(each.name.find("device"))), each.end);
    } else if (!device_of(trace, each).empty()) {
      std::string const device = short_device(trace, each);
      note(device, each.begin);
      note(device, each.end);
    }
  }
  for (auto& [device, times] : noticed) { std::sort(times.begin(), times.end()); }
  std::vector<std::int64_t> made;
  std::int64_t before = INT64_MIN;
  for (std::size_t const i : path) {
    trace_slice const& one = trace.slices[i];
    auto const found = noticed.find(short_device(trace, one));
    if (found == noticed.end()) {
      made.push_back(-1);
    } else {
      std::int64_t from = std::max(before, one.begin);
      auto const next = std::lower_bound(found->second.begin(), found->second.end(), one.end);
      if (next != found->second.begin()) { from = std::max(from, *std::prev(next)); }
      made.push_back(std::max<std::int64_t>(one.end - from, 0));
    }
    before = one.end;
  }
  return made;
}

std::int64_t device_use::busy_time() const noexcept {
  std::int64_t sum = 0;
  for (period const& each : busy) { sum += each.end - each.begin; }
  return sum;
}

std::vector<device_use::period> device_use::idle() const {
  std::vector<period> made;
  for (std::size_t i = 1; i < busy.size(); ++i) {
    made.push_back({busy[i - 1].end, busy[i].begin});
  }
  return made;
}

std::vector<device_use> use_of_devices(trace_model const& trace) {
  std::map<std::string, device_use> made;
  for (trace_slice const& each : trace.slices) {  // in the order of their begins
    bool const is_work = is_task(each) || each.category == "batch";
    std::string const device = is_work ? device_of(trace, each) : "";
    // Tasks that were never launched are no work of a device.
    if (device.empty() || (is_task(each) && each.value("run_ns") == 0)) { continue; }
    device_use& use = made[device];
    use.device = device;
    if (use.busy.empty() || use.busy.back().end < each.begin) {
      use.busy.push_back({each.begin, each.end});
    } else {
      use.busy.back().end = std::max(use.busy.back().end, each.end);
    }
  }
  std::vector<device_use> all;
  for (auto& [name, use] : made) { all.push_back(std::move(use)); }
  return all;
}

void print_report(std::ostream& out, trace_model const& trace, std::string const& file,
                  std::size_t count) {
  std::vector<std::size_t> const tasks = tasks_of(trace);
  auto const drawn = static_cast<std::size_t>(std::count_if(
      tasks.begin(), tasks.end(), [&](std::size_t i) { return is_unfinished(trace.slices[i]); }));
  std::size_t const shown = tasks.size() - drawn;
  out << file << ": " << shown << (shown == 1 ? " task" : " tasks");
  if (trace.every != 1) { out << ", about one of " << trace.every; }
  out << '\n';
  if (trace.dropped != 0) {
    out << "warning: " << trace.dropped
        << " events are missing, because the writer did not keep up; trace fewer tasks, or allow "
           "more memory\n";
  }
  if (trace.unfinished != 0) {
    out << "note: " << trace.unfinished << (trace.unfinished == 1 ? " task had" : " tasks had")
        << " not ended when the trace ended; " << drawn << " of them "
        << (drawn == 1 ? "is" : "are") << " in the trace, marked as unfinished\n";
  }
  if (trace.every != 1) {
    out << "note: arrows need both of their tasks, so few of them are left\n";
  }
  if (tasks.empty()) { return; }
  print_waits(out, trace, count);
  print_path(out, trace, count);
  print_devices(out, trace);
}

}  // namespace tool
