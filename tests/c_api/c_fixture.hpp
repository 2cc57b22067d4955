// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of the tests of the C interface: a runtime with two devices, once in single-threaded
// mode and once with workers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

#include <flotilla/flotilla.h>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

/// Prints a status in GoogleTest's messages.
inline void PrintTo(flotilla_status status, std::ostream* out) {
  *out << flotilla_status_name(status);
}

/// Expects that a call succeeds.
#define FLOTILLA_C_OK(...) EXPECT_EQ((__VA_ARGS__), FLOTILLA_SUCCESS) << flotilla_last_error()

/// Expects that a call fails with `status`, and that the text of the error contains `word`.
#define FLOTILLA_C_FAILS(status, word, ...)                        \
  do {                                                             \
    SCOPED_TRACE(#__VA_ARGS__);                                    \
    ::flotilla::test::expect_failure((__VA_ARGS__), status, word); \
  } while (false)

namespace flotilla::test {

/// The details of the last failure in this thread.
[[nodiscard]] inline flotilla_error_details last_details() {
  flotilla_error_details details = FLOTILLA_ERROR_DETAILS_INIT;
  EXPECT_EQ(flotilla_last_error_details(&details), FLOTILLA_SUCCESS);
  return details;
}

/// Checks the status, the text and the details of a call that failed.
inline void expect_failure(flotilla_status got, flotilla_status expected, char const* word) {
  EXPECT_EQ(got, expected) << flotilla_last_error();
  EXPECT_THAT(flotilla_last_error(), ::testing::HasSubstr(word));
  EXPECT_STRNE(flotilla_last_error(), "");
  EXPECT_EQ(last_details().status, expected);
}

/// The test image for the C interface.
[[nodiscard]] inline flotilla_image c_test_image() {
  image const& from = test_image();
  flotilla_image made = FLOTILLA_IMAGE_INIT;
  made.name = from.name;
  made.gpu = from.gpu;
  made.gpu_bytes = from.gpu_bytes;
  made.cpu = from.cpu;
  made.cpu_bytes = from.cpu_bytes;
  made.gpu_only = from.gpu_only;
  return made;
}

[[nodiscard]] inline flotilla_task_options on_device(int device) {
  flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
  options.device = device;
  return options;
}

/// Options with one predecessor, which must stay where it is until the task is submitted.
[[nodiscard]] inline flotilla_task_options after(flotilla_ticket const& predecessor) {
  flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
  options.after = &predecessor;
  options.after_count = 1;
  return options;
}

/// Waits for a task and releases its ticket. @return the result of the wait.
inline flotilla_status end_of(flotilla_ticket ticket) {
  flotilla_status const result = flotilla_ticket_wait(ticket);
  EXPECT_EQ(flotilla_ticket_release(ticket), FLOTILLA_SUCCESS);
  return result;
}

using c_body = std::function<int(flotilla_task_context const&)>;

/// Submits a callable of C++ through the C interface.
inline flotilla_status submit_body(flotilla_runtime rt, c_body body,
                                   flotilla_task_options const* options, flotilla_ticket* made) {
  return flotilla_submit_function(
      rt,
      [](void* user, flotilla_task_context const* context) {
        return (*static_cast<c_body*>(user))(*context);
      },
      new c_body(std::move(body)), [](void* user) { delete static_cast<c_body*>(user); }, options,
      made);
}

/// Submits a callable and waits for its end.
inline flotilla_status run_body(flotilla_runtime rt, c_body body,
                                flotilla_task_options const* options = nullptr) {
  flotilla_ticket made{};
  flotilla_status const submitted = submit_body(rt, std::move(body), options, &made);
  return submitted == FLOTILLA_SUCCESS ? end_of(made) : submitted;
}

[[nodiscard]] inline flotilla_runtime make_c_runtime(int workers, int devices = 2) {
  std::string const spec = device_spec(devices);
  flotilla_runtime_options options = FLOTILLA_RUNTIME_OPTIONS_INIT;
  options.devices = spec.c_str();
  options.workers = workers;
  flotilla_runtime made{};
  EXPECT_EQ(flotilla_runtime_create(&options, &made), FLOTILLA_SUCCESS) << flotilla_last_error();
  return made;
}

/// A task whose successors are not launched: a function that runs until `open` is called. In
/// single-threaded mode, open it before the first wait, which calls the function.
class c_gate {
 public:
  explicit c_gate(flotilla_runtime rt, int device = 0) {
    flotilla_task_options const options = on_device(device);
    FLOTILLA_C_OK(submit_body(
        rt,
        [this](flotilla_task_context const&) {
          latch_.wait();
          return 0;
        },
        &options, &ticket_));
  }
  c_gate(c_gate const&) = delete;
  c_gate& operator=(c_gate const&) = delete;
  ~c_gate() {
    open();
    FLOTILLA_C_OK(end_of(ticket_));
  }
  [[nodiscard]] flotilla_ticket const& ticket() const { return ticket_; }
  void open() { latch_.open(); }

 private:
  latch latch_;
  flotilla_ticket ticket_{};
};

/// A kernel that runs until `release` is called.
class c_held {
 public:
  c_held(flotilla_runtime rt, flotilla_kernel hold_until, int device) {
    void* address = nullptr;
    FLOTILLA_C_OK(flotilla_host_alloc(rt, 2 * sizeof(std::uint32_t), &memory_));
    FLOTILLA_C_OK(flotilla_buffer_address(memory_, &address));
    words_ = static_cast<std::uint32_t*>(address);
    words_[0] = words_[1] = 0;
    flotilla_argument const argument = FLOTILLA_VALUE(words_);
    flotilla_task_options const options = on_device(device);
    FLOTILLA_C_OK(
        flotilla_submit_launch(hold_until, flotilla_over(1, 1), &argument, 1, &options, &ticket_));
  }
  c_held(c_held const&) = delete;
  c_held& operator=(c_held const&) = delete;
  ~c_held() {
    release();
    FLOTILLA_C_OK(end_of(ticket_));
    FLOTILLA_C_OK(flotilla_buffer_free(memory_));
  }
  [[nodiscard]] flotilla_ticket const& ticket() const { return ticket_; }
  void release() {
    // release: pairs with the kernel's load
    std::atomic_ref{words_[1]}.store(1, std::memory_order_release);
  }

 private:
  flotilla_buffer memory_{};
  std::uint32_t* words_ = nullptr;
  flotilla_ticket ticket_{};
};

/// The parameter is the number of workers.
class c_api_test : public guest_test, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    FLOTILLA_NEED_DEVICES(2);
    rt = make_c_runtime(GetParam());
    program = load(rt);
    add_to_ = kernel("add_to");
  }
  void TearDown() override {
    for (flotilla_buffer const each : buffers_) { FLOTILLA_C_OK(flotilla_buffer_free(each)); }
    if (rt.id != 0) { FLOTILLA_C_OK(flotilla_runtime_destroy(rt)); }
    guest_test::TearDown();
  }

  [[nodiscard]] static flotilla_program load(flotilla_runtime owner) {
    flotilla_image const image = c_test_image();
    flotilla_program made{};
    FLOTILLA_C_OK(flotilla_program_load(owner, &image, &made));
    return made;
  }
  [[nodiscard]] static flotilla_kernel kernel_of(flotilla_program owner, char const* name) {
    flotilla_kernel found{};
    FLOTILLA_C_OK(flotilla_program_kernel(owner, name, &found));
    return found;
  }
  [[nodiscard]] flotilla_kernel kernel(char const* name) const { return kernel_of(program, name); }

  /// Words of device memory with an initial value. TearDown frees them.
  [[nodiscard]] flotilla_buffer words(unsigned device = 0, std::uint32_t value = 0,
                                      std::size_t count = 1) {
    flotilla_buffer made{};
    FLOTILLA_C_OK(flotilla_device_alloc(rt, device, count * sizeof value, &made));
    buffers_.push_back(made);
    flotilla_ticket filled{};
    FLOTILLA_C_OK(flotilla_submit_fill(flotilla_in_buffer(made, 0), &value, sizeof value, count,
                                       nullptr, &filled));
    FLOTILLA_C_OK(end_of(filled));
    return made;
  }
  /// Waits for all tasks, and reads a word.
  [[nodiscard]] std::uint32_t read(flotilla_buffer from, std::size_t index = 0) const {
    std::uint32_t value = 0xdeadbeef;
    flotilla_ticket copied{};
    FLOTILLA_C_OK(flotilla_wait_idle(rt));
    FLOTILLA_C_OK(flotilla_submit_copy(flotilla_on_host(&value),
                                       flotilla_in_buffer(from, index * sizeof value), sizeof value,
                                       nullptr, &copied));
    FLOTILLA_C_OK(end_of(copied));
    return value;
  }
  /// Submits a launch that adds `amount` to the first word of `to`.
  flotilla_status add(flotilla_buffer to, std::uint32_t amount,
                      flotilla_task_options const* options, flotilla_ticket* ticket) const {
    flotilla_argument const arguments[] = {flotilla_address(to, 0), FLOTILLA_VALUE(amount)};
    return flotilla_submit_launch(add_to_, flotilla_over(1, 1), arguments, 2, options, ticket);
  }
  /// Submits a task that fails with code 7.
  [[nodiscard]] flotilla_ticket failing() const {
    flotilla_ticket made{};
    FLOTILLA_C_OK(submit_body(
        rt, [](flotilla_task_context const&) { return 7; }, nullptr, &made));
    return made;
  }
  /// Polls `condition`, and pumps between the polls.
  template <class Condition>
  [[nodiscard]] bool pumping_until(Condition condition) const {
    return eventually([&] {
      FLOTILLA_C_OK(flotilla_pump(rt, nullptr));
      return condition();
    });
  }

  flotilla_runtime rt{};
  flotilla_program program{};

 private:
  std::vector<flotilla_buffer> buffers_;
  flotilla_kernel add_to_{};
};

}  // namespace flotilla::test

/// Runs the suite in single-threaded mode and with workers.
#define FLOTILLA_C_API(suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(c_api, suite, ::testing::Values(0, int{FLOTILLA_AUTOMATIC}),    \
                           [](::testing::TestParamInfo<int> const& of) {                   \
                             return std::string{of.param == 0 ? "no_workers" : "workers"}; \
                           })
