// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "stress/failed_calls/workload.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "support/driver_in_use.hpp"

namespace flotilla::test {

using namespace std::chrono_literals;

namespace {
struct wrong_result : std::runtime_error {
  using runtime_error::runtime_error;
};
}  // namespace

void findings::report(std::string const& where, std::exception const& why) {
  std::string const text = why.what();
  errors.push_back(where + ": " + text);
  // An error must name the call, or what the program knows.
  std::array<std::string_view, 12> const names{"cu",    "task",      "kernel",  "device",
                                               "data",  "copy",      "memory",  "stream",
                                               "trace", "recording", "runtime", "bad_alloc"};
  if (std::none_of(names.begin(), names.end(),
                   [&](std::string_view name) { return text.find(name) != text.npos; })) {
    violations.push_back(where + ": the error names nothing: '" + text + "'");
  }
}

application_stream::application_stream() {
  driver::table const& api = driver_in_use();
  CUcontext popped = nullptr;
  if (api.init(0) != CUDA_SUCCESS || api.ctx_create(&context_, 0, 0) != CUDA_SUCCESS) { return; }
  if (api.stream_create(&stream_, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS) {
    api.event_create(&event_, CU_EVENT_DISABLE_TIMING);
  }
  api.ctx_pop_current(&popped);
}

application_stream::~application_stream() {
  driver::table const& api = driver_in_use();
  CUcontext popped = nullptr;
  if (context_ == nullptr) { return; }
  api.ctx_push_current(context_);
  if (stream_ != nullptr) { api.stream_synchronize(stream_); }
  if (event_ != nullptr) { api.event_destroy(event_); }
  if (stream_ != nullptr) { api.stream_destroy(stream_); }
  api.ctx_pop_current(&popped);
  api.ctx_destroy(context_);
}

bool application_stream::record() {
  driver::table const& api = driver_in_use();
  if (event_ == nullptr || api.ctx_push_current(context_) != CUDA_SUCCESS) { return false; }
  bool const recorded = api.event_record(event_, stream_) == CUDA_SUCCESS;
  CUcontext popped = nullptr;
  if (api.ctx_pop_current(&popped) != CUDA_SUCCESS) { api.ctx_pop_current(&popped); }
  return recorded;
}

workload::workload(runtime& rt, program loaded, application_stream& stream, findings& found)
    : rt_(rt),
      program_(std::move(loaded)),
      stream_(stream),
      found_(found),
      increment_(program_.kernel<unsigned*, unsigned>("increment_all")) {}

workload::~workload() {
  expected_.clear();
  while (!kept_.empty()) { kept_.pop_back(); }
}

std::vector<std::shared_ptr<void>>& workload::long_lived() {
  static std::vector<std::shared_ptr<void>> all;
  return all;
}

void workload::expect(ticket&& of, std::string name, std::function<bool()> verify) {
  expected_.push_back({std::move(of), std::move(name), std::move(verify)});
}

launch workload::increments(buffer& of) const {
  auto const count = static_cast<unsigned>(of.size());
  return increment_.over(count)(of.data(), count);
}

void workload::run() {
  struct part {
    char const* name;
    void (workload::*function)();
  };
  static constexpr std::array<part, 12> parts{{{"copies", &workload::copies},
                                               {"rectangles", &workload::rectangles},
                                               {"fills", &workload::fills_and_attributes},
                                               {"bulks", &workload::bulks},
                                               {"functions", &workload::functions},
                                               {"replays", &workload::replays},
                                               {"steps", &workload::steps_over_devices},
                                               {"flow", &workload::flow_of_two_devices},
                                               {"tiles", &workload::flow_of_tiles},
                                               {"variables", &workload::variables},
                                               {"memory", &workload::short_lived_memory},
                                               {"streams", &workload::streams}}};
  for (part const& each : parts) {
    try {
      (this->*each.function)();
    } catch (wrong_result const& why) {
      found_.violations.push_back(why.what());
    } catch (std::exception const& why) { found_.report(each.name, why); }
  }
  settle();
}

void workload::settle() {
  auto const until = std::chrono::steady_clock::now() + 15s;
  for (expectation& each : expected_) {
    if (!each.of.wait_until(until)) {
      found_.violations.push_back("the task '" + each.name + "' does not end");
      continue;
    }
    try {
      each.of.wait();
    } catch (std::exception const& why) {
      found_.report("task " + each.name, why);
      continue;
    }
    if (each.verify && !each.verify()) {
      found_.violations.push_back("the task '" + each.name +
                                  "' has succeeded, but its result is wrong");
    }
  }
  expected_.clear();
}

void workload::raise_tiles(flow& work, data<unsigned, 2>& of) {
  auto tiles = of.tiles({of.extents()[0] / 2, of.extents()[1] / 2});
  std::size_t i = 0;
  for (auto& tile : tiles) {
    auto const touch = [](task_context&, view<unsigned, 2>) {};
    expect(work.submit(uses(update(tile)), touch, {.device = on(i++)}), "touch a tile");
    auto const raise = [](view<unsigned, 2> part) {
      for (std::size_t r = 0; r < part.extents[0]; ++r) {
        for (std::size_t c = 0; c < part.extents[1]; ++c) { ++part(r, c); }
      }
    };
    expect(work.submit(uses(update(tile)), host_task(raise)), "raise a tile");
    expect(work.submit(uses(update(tile)), touch, {.device = on(i)}), "touch again");
  }
}

void workload::rectangles() {
  // The tiles of memory of the program are copied as rectangles.
  constexpr std::size_t rows = 24, columns = 20;
  using table = data<unsigned, 2>;
  auto& pinned = keep<host_buffer<unsigned>>(rt_, rows * columns);
  auto& there = keep<buffer>(rt_, on(0), rows * columns);
  std::fill_n(pinned.data(), rows * columns, 5u);
  rt_.submit(there.fill(5u)).wait();
  auto& whole_flow = keep<flow>(rt_);
  auto& of_host = keep<table>(whole_flow, pinned, table::extents_type{rows, columns}, "of host");
  auto& of_device = keep<table>(whole_flow, there, table::extents_type{rows, columns}, "of device");
  for (table* const each : {&of_host, &of_device}) {
    raise_tiles(whole_flow, *each);
    auto const all = each->host();
    for (std::size_t k = 0; k < rows * columns; ++k) {
      if (all.data[k] != 6u) { throw wrong_result("data of tiles are wrong"); }
    }
  }
}

void workload::flow_of_two_devices() {
  constexpr unsigned size = 2000;
  auto& host = keep_long<values>(size, 1u);
  auto& work = keep<flow>(
      rt_, flow_options{.memory_limit = std::size_t{3} * size * sizeof(unsigned) + 4096});
  auto& x = keep<data<unsigned>>(work, std::span{host}, "x");
  auto& sum = keep<data<unsigned>>(work, data<unsigned>::extents_type{size}, "sum");
  std::vector<data<unsigned>*> others;
  for (int i = 0; i < 4; ++i) {  // more than the limit allows, so that data are evicted
    others.push_back(&keep<data<unsigned>>(work, data<unsigned>::extents_type{size}, "other"));
  }
  auto const nothing = [](task_context&, view<unsigned>) {};
  for (unsigned round = 0; round < 3; ++round) {
    for (std::size_t d = 0; d < 2; ++d) {
      expect(work.submit(increment_.over(size)(update(x), size), {.device = on(d)}), "raise x");
      expect(work.submit(increment_.over(size)(reduce(sum), size), {.device = on(d)}), "reduce");
      for (data<unsigned>* const each : others) {
        expect(work.submit(uses(write(*each)), nothing, {.device = on(d)}), "evict");
      }
    }
  }
  auto const x_now = x.host();
  auto const sum_now = sum.host();
  for (std::size_t i = 0; i < size; ++i) {
    if (x_now.data[i] != 7u || sum_now.data[i] != 6u) {
      throw wrong_result("data of a flow are wrong");
    }
  }
}

void workload::flow_of_tiles() {
  constexpr std::size_t size = 3000;
  auto& host = keep_long<values>(size, 1u);
  auto& work = keep<flow>(rt_);
  auto& whole = keep<data<unsigned>>(work, std::span{host}, "whole");
  {
    auto tiles = whole.tiles({size / 3});
    std::size_t i = 0;
    for (auto& tile : tiles) {
      for (int k = 0; k < 2; ++k) {
        unsigned const count = size / 3;
        expect(work.submit(increment_.over(count)(update(tile), count), {.device = on(i++)}),
               "tile");
      }
      tile.prefetch_to(on(i));
    }
  }
  auto const now = whole.host();
  for (std::size_t k = 0; k < size; ++k) {
    if (now.data[k] != 3u) { throw wrong_result("tiles are wrong"); }
  }
}

void workload::variables() {
  auto const tally_up = program_.kernel<unsigned*>("tally_up");
  for (std::size_t d = 0; d < 2; ++d) {
    unsigned const start = 40;
    program_.write_global(on(d), "tally", std::as_bytes(std::span{&start, 1}));
    auto& result = keep<buffer>(rt_, on(d), 1u);
    auto& out = keep_long<values>(1, 0u);
    ticket tallied = rt_.submit(tally_up.with_shape({1}, {1})(result.data()), {.device = on(d)});
    tallied.wait();
    unsigned now = 0;
    program_.read_global(on(d), "tally", std::as_writable_bytes(std::span{&now, 1}));
    if (now != 43u) { throw wrong_result("a variable is wrong"); }
    expect(rt_.submit(result.copy_to(out)), "tally", [&out] { return out[0] == 43u; });
  }
}

void workload::short_lived_memory() {
  for (std::size_t i = 0; i < 20; ++i) {
    buffer device{rt_, on(i), 5000};
    host_buffer<unsigned> pinned{rt_, 5000};
    expect(rt_.submit(device.copy_from(pinned)), "copy of memory that is given up");
  }
}

void workload::streams() {
  auto& one = keep<buffer>(rt_, on(0), 100u);
  auto& out = keep_long<values>(100, 0u);
  bool const recorded = stream_.record();
  ticket filled = rt_.submit(one.fill(1u));
  ticket event = recorded ? rt_.submit(stream_.event()) : ticket{};
  task_options after{.after = {filled}};
  if (recorded) { after.after.add(event); }
  ticket raised = rt_.submit(increments(one), after);
  for (int i = 0; i < 4 && stream_.event() != nullptr; ++i) {
    try {
      enqueue_wait(raised, stream_.stream());
    } catch (std::exception const& why) { found_.report("enqueue_wait", why); }
  }
  expect(rt_.submit(one.copy_to(out), {.after = {raised}}), "after an event",
         [&out] { return out[0] == 2u && out[99] == 2u; });
  if (recorded) { expect(std::move(event), "event"); }
  expect(std::move(raised), "raise after an event");
  expect(std::move(filled), "fill before an event");
}

}  // namespace flotilla::test
