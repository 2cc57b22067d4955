// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What this process has for its isolated devices. There is one owner, which is never destroyed,
// because workers serve the whole process and end with it.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "driver/device_recovery.hpp"
#include "driver/table.hpp"
#include "isolation/memory/host_arena.hpp"
#include "isolation/owner/isolated_device.hpp"
#include "isolation/owner/journal.hpp"
#include "isolation/owner/supervisor.hpp"
#include "isolation/protocol/layout.hpp"

namespace flotilla::isolated {

/// Threads: any.
class owner final : public driver::device_recovery {
 public:
  /// Makes the owner, or returns it.
  /// @throws invalid_argument  There is an owner for another driver.
  [[nodiscard]] static owner& make(std::shared_ptr<driver::table const> const& base,
                                   std::string const& program);
  /// The owner of this process. There must be one.
  [[nodiscard]] static owner& get() noexcept { return *only_.load(std::memory_order_acquire); }
  /// The owner, or null.
  [[nodiscard]] static owner* find() noexcept { return only_.load(std::memory_order_acquire); }

  void isolate(int ordinal);
  /// The device, or null if it is not isolated.
  [[nodiscard]] isolated_device* device(int ordinal) const noexcept {
    bool const is_valid = ordinal >= 0 && ordinal < max_devices;
    return is_valid ? devices_[static_cast<std::size_t>(ordinal)].load(std::memory_order_acquire)
                    : nullptr;
  }
  /// Keeps a process ready for each isolated device, and up to date if a warm spare is wanted.
  void keep_spares();

  [[nodiscard]] driver::table const& base() const noexcept { return *base_; }
  [[nodiscard]] std::string const& program() const noexcept { return program_; }
  [[nodiscard]] host_arena& host() noexcept { return host_; }
  [[nodiscard]] supervisor& processes() noexcept { return processes_; }
  /// Libraries and kernels, which belong to all devices. Guarded by `shared_mutex`, which is taken
  /// after the lock of a device.
  [[nodiscard]] journal& shared() noexcept { return shared_; }
  [[nodiscard]] std::recursive_mutex& shared_mutex() noexcept { return shared_mutex_; }

  [[nodiscard]] bool is_lost(user const& who) const noexcept override;
  [[nodiscard]] CUresult status(user const& who) const noexcept override;
  [[nodiscard]] std::string reason(user const& who) const override;
  void kill(user const& who) noexcept override;
  void crash(user const& who) noexcept override;
  [[nodiscard]] bool replace(user const& who) noexcept override;
  void end(user const& who) noexcept override;
  [[nodiscard]] bool can_access(int ordinal, std::uintptr_t address) const override;
  [[nodiscard]] void* allocate_shared(std::size_t bytes) override;
  void free_shared(void* memory) noexcept override;

 private:
  owner(std::shared_ptr<driver::table const> base, std::string program);

  /// The object of the user's context, or 0.
  [[nodiscard]] static std::uint32_t index_of(user const& who) noexcept;
  /// The worker that serves the device, if the user knows it. A user that does not has lost its
  /// worker already, and must do nothing to the one of the others.
  [[nodiscard]] std::shared_ptr<worker_process> worker_of(user const& who) const noexcept;

  static std::atomic<owner*> only_;
  std::shared_ptr<driver::table const> base_;
  std::string program_;
  host_arena host_;
  supervisor& processes_;
  std::recursive_mutex shared_mutex_;
  journal shared_;
  std::mutex making_;
  std::array<bool, max_devices> has_keeper_{};  // guarded by making_
  std::array<std::atomic<isolated_device*>, max_devices> devices_{};
};

}  // namespace flotilla::isolated
