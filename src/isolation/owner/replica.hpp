// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes the objects of a device in a worker that does not serve the device yet: a successor or a
// spare.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "isolation/memory/device_memory.hpp"
#include "isolation/memory/host_arena.hpp"
#include "isolation/owner/journal.hpp"
#include "isolation/owner/worker_process.hpp"

namespace flotilla::isolated {

/// What the objects of a device consist of.
struct replicated {
  journal& objects;
  journal& shared;  // objects of all devices
  device_memory& memory;
  host_arena& host;
};

/// Not thread-safe.
class replica {
 public:
  explicit replica(std::shared_ptr<worker_process> worker) noexcept : worker_(std::move(worker)) {}

  /// The steps that make the worker equal to what `from` contains. Call it with the lock of the
  /// device and of the shared objects.
  /// Numbers that change with each change of the objects, the device memory and the host memory.
  using state = std::array<std::uint64_t, 4>;
  class plan {
    friend class replica;
    struct step {
      std::uint32_t index = 0;
      std::uint64_t order = 0;
      bool makes = false;
      object_kind kind = object_kind::none;
      std::vector<std::byte> request;
    };
    struct mapped {
      CUdeviceptr address;
      std::size_t bytes;
      CUmemGenericAllocationHandle handle;
      descriptor memory;
      CUresult shared;  // whether there is a descriptor
    };
    std::vector<std::uint32_t> ended;
    std::vector<step> steps;
    std::vector<std::pair<CUdeviceptr, std::size_t>> unmap;
    std::vector<mapped> map;
    struct registered {
      std::uint64_t address = 0;
      std::size_t bytes = 0;
    };
    std::vector<std::pair<std::uint64_t, registered>> unregister_host;  // by the id of the block
    std::vector<std::pair<std::uint64_t, registered>> register_host;
    std::uint64_t last_order = 0;
    std::uint64_t last_shared_order = 0;
    state seen{};
  };
  [[nodiscard]] plan prepare(replicated const& from) const;
  /// Whether anything has changed since the last `prepare` whose plan was applied. The same locks.
  [[nodiscard]] bool is_behind(replicated const& from) const noexcept {
    return applied_ != state_of(from);
  }
  /// Executes the steps. @return an empty text, or why the worker cannot be used
  [[nodiscard]] std::string apply(plan todo);
  /// Records the events that the last worker had recorded, so that they count as complete.
  [[nodiscard]] std::string complete_events(journal const& objects);

  [[nodiscard]] std::shared_ptr<worker_process> const& worker() const noexcept { return worker_; }
  /// Whether the worker has made a shared object.
  [[nodiscard]] bool has(std::uint32_t index) const { return made_.count(index) != 0; }
  /// The shared objects that the worker has made.
  [[nodiscard]] std::vector<std::uint32_t> shared_objects() const;

 private:
  [[nodiscard]] static state state_of(replicated const& from) noexcept {
    return {from.objects.last_order(), from.shared.last_order(), from.memory.version(),
            from.host.version()};
  }
  void add_steps(plan& into, journal const& objects, replicated const& from,
                 std::uint64_t after) const;
  [[nodiscard]] std::string apply_memory(plan const& todo);

  std::shared_ptr<worker_process> worker_;
  std::unordered_map<std::uint32_t, std::uint64_t> made_;  // the order of each object
  // A class, because GCC exports the names of templates of the standard library with an enum.
  struct kind_of_object {
    object_kind value{};
  };
  std::unordered_map<std::uint32_t, kind_of_object> kinds_;
  std::map<CUdeviceptr, std::pair<std::size_t, CUmemGenericAllocationHandle>> blocks_;
  std::map<std::uint64_t, plan::registered> host_;  // by the id of the block
  std::uint64_t last_order_ = 0;
  std::uint64_t last_shared_order_ = 0;
  state applied_{~std::uint64_t{0}};
};

}  // namespace flotilla::isolated
