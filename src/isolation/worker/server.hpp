// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A worker: serves the socket and the channels of its owner until the owner ends.

#include <atomic>
#include <memory>

#include "driver/table.hpp"
#include "isolation/channel/channel.hpp"
#include "isolation/channel/sealed_memory.hpp"
#include "isolation/protocol/control_message.hpp"
#include "isolation/worker/device_mappings.hpp"
#include "isolation/worker/executor.hpp"

namespace flotilla::isolated {

class server {
 public:
  server();

  /// Serves the socket. @return the exit status of the process
  [[nodiscard]] int run();

 private:
  [[nodiscard]] control_answer answer_to(control_message const& asked, descriptor const& passed);
  [[nodiscard]] control_answer start(control_message const& hello);
  void open_channel(std::uint32_t number);

  descriptor socket_;
  descriptor channels_file_;
  descriptor host_file_;
  mapping channels_;
  mapping host_memory_;
  std::shared_ptr<driver::table const> api_;
  std::unique_ptr<real_handles> objects_;
  std::unique_ptr<host_registrations> host_;
  std::unique_ptr<device_mappings> memory_;
  std::unique_ptr<worker_parts> parts_;
  std::atomic<std::uint32_t> ended_contexts_{0};
  std::uint32_t opened_ = 0;  // a bit for each channel
};

}  // namespace flotilla::isolated
