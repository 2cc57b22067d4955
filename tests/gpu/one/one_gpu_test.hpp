// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of tests that use one program on one GPU.

#include <optional>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"

namespace flotilla::test {

class one_gpu_test : public guest_test {
 protected:
  /// @param code  The image of the program that each test uses.
  explicit one_gpu_test(image const& code) : code_(code) {}

  void SetUp() override {
    FLOTILLA_NEED_DEVICES(1);
    guest_test::SetUp();
    rt_.emplace(runtime_options{.devices = device_spec(1), .workers = 1});
    loaded_.emplace(rt_->load(code_));
  }
  void TearDown() override {
    rt_.reset();
    guest_test::TearDown();
  }
  runtime& rt() { return *rt_; }
  program const& loaded() { return *loaded_; }
  static constexpr device_ordinal gpu{0};

  /// Returns the contents of a buffer after these tasks have ended.
  template <class T>
  std::vector<T> fetch(device_buffer<T> const& from, dependency_list after) {
    std::vector<T> host(from.size());
    rt().submit(from.copy_to(host), {.after = std::move(after)}).wait();
    return host;
  }

 private:
  image const& code_;
  std::optional<runtime> rt_;
  std::optional<program> loaded_;
};

}  // namespace flotilla::test
