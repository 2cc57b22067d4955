// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of the tests of flows of the C interface.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {

using data_body = std::function<int(flotilla_task_context const*, flotilla_view const*)>;

/// A test with a flow.
class c_flow_test : public c_api_test {
 protected:
  void SetUp() override {
    c_api_test::SetUp();
    if (IsSkipped()) { return; }
    FLOTILLA_C_OK(flotilla_flow_create(rt, nullptr, &flow));
    write_value_ = kernel("write_value");
    multiply_add_ = kernel("multiply_add");
    add_to_ = kernel("add_to");
  }
  void TearDown() override {
    for (flotilla_data const each : data_) { FLOTILLA_C_OK(flotilla_data_destroy(each)); }
    if (flow.id != 0) { FLOTILLA_C_OK(flotilla_flow_destroy(flow)); }
    c_api_test::TearDown();
  }

  /// Makes data of words without contents. TearDown destroys them.
  [[nodiscard]] flotilla_data words_of_flow(std::size_t count = 1, char const* label = nullptr) {
    flotilla_data made{};
    FLOTILLA_C_OK(flotilla_data_create(flow, flotilla_vector(sizeof(std::uint32_t), count), nullptr,
                                       label, &made));
    return kept(made);
  }
  /// Makes data whose first copy is at a place.
  [[nodiscard]] flotilla_data data_at(flotilla_place where, std::size_t count) {
    flotilla_data made{};
    FLOTILLA_C_OK(flotilla_data_create(flow, flotilla_vector(sizeof(std::uint32_t), count), &where,
                                       nullptr, &made));
    return kept(made);
  }
  flotilla_data kept(flotilla_data made) {
    data_.push_back(made);
    return made;
  }
  /// Makes TearDown forget data that the test destroys.
  void forget(flotilla_data which) {
    std::erase_if(data_, [which](flotilla_data each) { return each.id == which.id; });
  }

  flotilla_status submit(flotilla_kernel kernel, std::vector<flotilla_use> const& arguments,
                         int device = FLOTILLA_ANY_DEVICE,
                         flotilla_ticket* ticket = nullptr) const {
    flotilla_task_options const options = on_device(device);
    return flotilla_flow_submit_launch(flow, kernel, flotilla_over(1, 1), arguments.data(),
                                       arguments.size(), &options, ticket);
  }
  /// data[0] = value
  flotilla_status write(flotilla_data to, std::uint32_t value,
                        int device = FLOTILLA_ANY_DEVICE) const {
    return submit(write_value_, {flotilla_write(to), flotilla_plain(FLOTILLA_VALUE(value))},
                  device);
  }
  /// data[0] = data[0] * factor + summand
  flotilla_status step(flotilla_data of, std::uint32_t factor, std::uint32_t summand,
                       int device = FLOTILLA_ANY_DEVICE) const {
    return submit(multiply_add_,
                  {flotilla_update(of), flotilla_plain(FLOTILLA_VALUE(factor)),
                   flotilla_plain(FLOTILLA_VALUE(summand))},
                  device);
  }
  /// Adds `amount` to the word of a use.
  flotilla_status add_to(flotilla_use use, std::uint32_t amount,
                         int device = FLOTILLA_ANY_DEVICE) const {
    return submit(add_to_, {use, flotilla_plain(FLOTILLA_VALUE(amount))}, device);
  }

  /// Submits a callable of C++ to the flow, as a function of a device or of the host.
  flotilla_status submit_host(data_body body, std::vector<flotilla_use> const& uses,
                              flotilla_ticket* ticket = nullptr) const {
    return flotilla_flow_submit_host(flow, &call, new data_body(std::move(body)), &destroy,
                                     uses.data(), uses.size(), nullptr, ticket);
  }
  flotilla_status submit_function(data_body body, std::vector<flotilla_use> const& uses, int device,
                                  flotilla_ticket* ticket = nullptr) const {
    flotilla_task_options const options = on_device(device);
    return flotilla_flow_submit_function(flow, &call, new data_body(std::move(body)), &destroy,
                                         uses.data(), uses.size(), &options, ticket);
  }

  /// Waits until the data are on the host, and returns one word.
  [[nodiscard]] std::uint32_t value_of(flotilla_data which, std::size_t index = 0) const {
    flotilla_view view{};
    FLOTILLA_C_OK(flotilla_data_to_host(which, 0, &view));
    return view.data == nullptr ? 0xdeadbeef : static_cast<std::uint32_t const*>(view.data)[index];
  }

  flotilla_flow flow{};

 private:
  static int call(void* user, flotilla_task_context const* context, flotilla_view const* views) {
    return (*static_cast<data_body*>(user))(context, views);
  }
  static void destroy(void* user) { delete static_cast<data_body*>(user); }

  flotilla_kernel write_value_{}, multiply_add_{}, add_to_{};
  std::vector<flotilla_data> data_;
};

}  // namespace flotilla::test
