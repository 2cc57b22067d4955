#pragma once
// Recorded tasks of one device: what is launched for every replay.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "context/floating_context.hpp"
#include "dispatch/change_list.hpp"
#include "dispatch/kernel_table.hpp"
#include "dispatch/recorded_graph.hpp"
#include "dispatch/recording_plan.hpp"

namespace flotilla::dispatch {

/// What a slot holds of a replay.
struct replayed_part {
  std::uint32_t part = 0;                        // in the store
  std::uint32_t changes = change_lists::none;    // of that part: to be made before it is launched
  std::uint32_t order_only = 0;                  // of the first so many of `after` the order counts, and not how they end
};

/// Only the holder of the device's lease, with the context current, but for what says otherwise.
class recorded_part {
 public:
  struct making {
    planned_part const& plan;
    std::span<recorded_action const> actions;  // by task
    kernel_table const& table;
    CUdeviceptr counter;
    own_functions own;
    mapped_slabs& records;         // outlives it, as the page does
    completion_page const& page;
  };
  /// @throws driver_error  naming the task and its kernel, where the driver says which it was.
  recorded_part(context::floating_context const& context, making const& from);
  /// Calls nothing: what was not destroyed is the context's, and went with it.
  ~recorded_part() = default;
  recorded_part(recorded_part const&) = delete;
  recorded_part& operator=(recorded_part const&) = delete;
  void destroy() noexcept;

  struct refusal {
    CUresult status = CUDA_SUCCESS;
    char const* call = "";
    std::uint32_t kernel = 0;      // or no_kernel
    std::exception_ptr why{};      // where it says more
  };
  /// Has the nodes hold what a replay has changed, and what is owed, as soon as that replay is launched. On refusal some may
  /// hold it: the list is still the caller's, to be owed.
  [[nodiscard]] refusal rewrite(std::uint32_t changes);
  /// These changes were not made, or not all: the next rewrite makes them first.
  void owe(std::uint32_t changes);
  /// Puts it into the lane's stream; behind its nodes the lane's next number, `number`, is written. Where that fails, what
  /// was rewritten is to be owed.
  [[nodiscard]] CUresult enqueue(lane const& on, std::uint64_t number) noexcept;
  /// Has it on the device before its first replay. `stream` is waited for: nothing that may take long is in it.
  /// @throws driver_error, std::bad_alloc  It cannot be used.
  [[nodiscard]] CUresult upload(CUstream stream);

  // Any thread.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] std::string words(std::uint32_t kernel) const;
  [[nodiscard]] unsigned device() const noexcept { return device_; }
  change_lists lists;

 private:
  [[nodiscard]] std::unique_ptr<recorded_graph> make(mapped_slabs* records);
  [[nodiscard]] refusal rewrite(change_list const& changes);
  /// From now on the driver rewrites its nodes, which hold what they are to hold.
  [[nodiscard]] refusal leave_updating();
  [[nodiscard]] std::string subject(std::optional<std::uint32_t> node) const;

  context::floating_context const& context_;
  planned_part const plan_;
  kernel_table const& table_;
  CUdeviceptr counter_;
  own_functions const own_;
  completion_page const& page_;
  unsigned device_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> kernels_;  // of the nodes, or no_kernel; for messages
  change_list holds_;  // what the nodes hold, or are to hold; of one that is updated, else empty
  std::unique_ptr<recorded_graph> graph_;
  std::unique_ptr<recorded_graph> left_;  // what was used before: replays of it may be under way
  change_list owed_;
};

/// The parts of a runtime's recordings, named by index. Any thread.
class recorded_parts {
 public:
  [[nodiscard]] std::uint32_t add(std::shared_ptr<recorded_part> part);
  /// Null where it is gone.
  [[nodiscard]] std::shared_ptr<recorded_part> get(std::uint32_t index) const;
  [[nodiscard]] std::shared_ptr<recorded_part> take(std::uint32_t index);
  /// As the device's context ends.
  void destroy_all_of(unsigned device) noexcept;

 private:
  std::mutex mutable mutex_;
  std::vector<std::shared_ptr<recorded_part>> parts_;
  std::vector<std::uint32_t> free_;
};

}  // namespace flotilla::dispatch
