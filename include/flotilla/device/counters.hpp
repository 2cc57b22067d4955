#pragma once
/// What a runtime did, in numbers. Each is exact after `wait_idle` with nobody at work, and never goes back. (A ticket
/// can be done before its task has been counted: ends are collected in passing. Asking collects those that nobody
/// else is about to collect, so that who asks again and again sees every task counted.)

#include <cstdint>

namespace flotilla {

struct device_counters {
  std::uint64_t tasks = 0;       ///< tasks ended, well or badly
  std::uint64_t failed = 0;      ///< of these: badly
  std::uint64_t batches = 0;     ///< groups of launches that were given to a lane at once
  std::uint64_t pushes = 0;      ///< times the context was made current somewhere
  std::uint64_t migrations = 0;  ///< times the lease was taken by another thread than the time before
  std::uint64_t callables = 0;   ///< callables run
  std::uint64_t pulled = 0;      ///< tasks for any device that this one took
};

struct worker_counters {
  std::uint64_t drains = 0;   ///< times the worker held a lease
  std::uint64_t devices = 0;  ///< a bit for each of the first 64 devices: whether the worker drove it
};

}  // namespace flotilla
