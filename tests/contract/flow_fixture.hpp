// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of flows have in common.

#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <flotilla/data/flow.hpp>

#include "flow_kernels.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {

using words = std::vector<std::uint32_t>;

/// What the kernels of flow_kernels.cu compute.
inline void mix_on_host(std::uint32_t* to, std::uint32_t const* a, std::uint32_t const* b,
                        std::size_t count, std::uint32_t salt) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = a[i] * 31 + b[i] * 17 + salt + static_cast<std::uint32_t>(i);
  }
}
inline void stir_on_host(std::uint32_t* all, std::size_t count, std::uint32_t salt) {
  for (std::size_t i = 0; i < count; ++i) { all[i] = all[i] * 3 + salt; }
}

/// A flow of the runtime under test, and the kernels for it.
class flow_test : public contract_test {
 protected:
  using word_data = data<std::uint32_t>;

  void SetUp() override {
    contract_test::SetUp();
    kernels_.emplace(rt().load(flow_kernels));
    flow_.emplace(rt());
  }
  void TearDown() override {
    flow_.reset();
    kernels_.reset();
    contract_test::TearDown();
  }
  [[nodiscard]] flow& fl() { return *flow_; }
  [[nodiscard]] flotilla::program& kernels() { return *kernels_; }

  /// to = mix(a, b, salt)
  [[nodiscard]] data_launch mix(word_data& to, word_data const& a, word_data const& b,
                                std::uint32_t salt) {
    auto const count = static_cast<std::uint32_t>(to.size());
    return kernels()
        .kernel(flow_kernels.mix_words)
        .over(count, 32)(write(to), read(a), read(b), count, salt);
  }
  /// all = stir(all, salt)
  [[nodiscard]] data_launch stir(word_data& all, std::uint32_t salt) {
    auto const count = static_cast<std::uint32_t>(all.size());
    return kernels().kernel(flow_kernels.stir_words).over(count, 32)(update(all), count, salt);
  }
  /// to += from * factor, as a reduction
  [[nodiscard]] data_launch add(word_data& to, word_data const& from, std::uint32_t factor) {
    auto const count = static_cast<std::uint32_t>(to.size());
    return kernels()
        .kernel(flow_kernels.add_words)
        .over(count, 32)(reduce(to), read(from), count, factor);
  }
  /// to += from * factor, in any order with others that add
  [[nodiscard]] data_launch add_in_any_order(word_data& to, word_data const& from,
                                             std::uint32_t factor) {
    auto const count = static_cast<std::uint32_t>(to.size());
    return kernels()
        .kernel(flow_kernels.add_words)
        .over(count, 32)(commute(to), read(from), count, factor);
  }
  [[nodiscard]] static words iota(std::size_t count, std::uint32_t from = 0) {
    words made(count);
    std::iota(made.begin(), made.end(), from);
    return made;
  }
  /// Returns the first of the seeds for a random test. The arrangements have different seeds, so
  /// all of them together try more than a thousand.
  [[nodiscard]] static unsigned first_seed() {
    ::testing::TestInfo const& test = *::testing::UnitTest::GetInstance()->current_test_info();
    std::string const name = std::string{test.test_suite_name()} + test.name();
    return static_cast<unsigned>(std::hash<std::string>{}(name) % 1'000'000'000);
  }
  static constexpr int seeds_of_arrangement = 10;
  /// What `mix` and `stir` compute.
  [[nodiscard]] static words mixed(words const& a, words const& b, std::uint32_t salt) {
    words made(a.size());
    mix_on_host(made.data(), a.data(), b.data(), a.size(), salt);
    return made;
  }
  [[nodiscard]] static words stirred(words all, std::uint32_t salt, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) { stir_on_host(all.data(), all.size(), salt); }
    return all;
  }
  [[nodiscard]] static words on_host(word_data& which) {
    view<std::uint32_t const> const seen = which.host();
    return {seen.data, seen.data + seen.size()};
  }

 private:
  std::optional<flotilla::program> kernels_;
  std::optional<flow> flow_;
};

}  // namespace flotilla::test
