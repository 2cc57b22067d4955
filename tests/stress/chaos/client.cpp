// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "stress/chaos/client.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <flotilla/task/bulk.hpp>

#include "support/eventually.hpp"

namespace flotilla::test::chaos {

ending ending_of(ticket const& task) {
  try {
    if (!task.wait_for(test_timeout)) { return ending::other; }
    return ending::well;
  } catch (device_fault const&) { return ending::lost; } catch (dependency_failed const&) {
    return ending::dependency;
  } catch (bulk_error const&) { return ending::lost; } catch (std::exception const& why) {
    ADD_FAILURE() << why.what();
    return ending::other;
  }
}

namespace {

/// Says where `found` differs from `expected`.
std::string difference(std::vector<word> const& found, std::vector<word> const& expected) {
  std::size_t first = found.size(), last = 0, count = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i]) { continue; }
    first = std::min(first, i);
    last = i;
    ++count;
  }
  return std::to_string(count) + " of " + std::to_string(found.size()) +
         " words are wrong, words " + std::to_string(first) + " to " + std::to_string(last) +
         "; the first is " + std::to_string(found[first]) + " instead of " +
         std::to_string(expected[first]);
}

}  // namespace

void client::run_until(std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end && !::testing::Test::HasFailure()) {
    switch (random_() % 4) {
      case 0: flood(); break;
      case 1: chain(); break;
      case 2: copies(); break;
      default: bulk_of_items(); break;
    }
  }
}

device_ordinal client::any_device() {
  return {static_cast<unsigned>(random_() % rt_.devices().size())};
}

std::optional<device_buffer<word>> client::zeros(std::size_t size, device_ordinal device) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    try {
      std::optional<device_buffer<word>> made{std::in_place, rt_, device, size};
      if (ending_of(rt_.submit(made->span().fill(0))) == ending::well) { return made; }
    } catch (error const&) {
      // a call of this thread found that the device is lost
    }
  }
  ADD_FAILURE() << "no buffer";
  return std::nullopt;
}

std::optional<std::vector<word>> client::read(device_buffer<word> const& from) {
  std::vector<word> values(from.size());
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (ending_of(rt_.submit(from.copy_to(std::span{values}))) == ending::well) { return values; }
  }
  ADD_FAILURE() << "no copy";
  return std::nullopt;
}

void client::note(ending how, word ran, word most) {
  ++all_.tasks;
  if (how != ending::well) { ++all_.lost; }
  if (::testing::Test::HasFailure()) { return; }  // one message is enough
  EXPECT_NE(how, ending::other);
  EXPECT_LE(ran, most) << "doubled";
  if (how == ending::well) { EXPECT_GE(ran, 1u) << "lost"; }
  if (how == ending::dependency) { EXPECT_EQ(ran, 0u); }
}

void client::flood() {
  word const size = 1 + random_() % 500;
  auto counters = zeros(size, any_device());
  if (!counters) { return; }
  std::vector<ticket> tasks;
  for (word i = 0; i < size; ++i) {
    tasks.push_back(rt_.submit(count_.with_shape({1}, {1})(*counters, i)));
  }
  std::vector<ending> endings;
  for (ticket const& each : tasks) { endings.push_back(ending_of(each)); }
  auto const ran = read(*counters);
  if (!ran) { return; }
  for (std::size_t i = 0; i < tasks.size(); ++i) { note(endings[i], (*ran)[i]); }
}

void client::chain() {
  word const size = 1 + random_() % 60;
  std::vector<device_buffer<word>> counters;
  for (unsigned i = 0; i < rt_.devices().size(); ++i) {
    auto made = zeros(size, device_ordinal{i});
    if (!made) { return; }
    counters.push_back(std::move(*made));
  }
  std::vector<ticket> tasks;
  std::vector<unsigned> where;
  for (word i = 0; i < size; ++i) {
    where.push_back(any_device().value);
    task_options options;
    if (i != 0) { options.after = {tasks.back()}; }
    tasks.push_back(rt_.submit(count_.with_shape({1}, {1})(counters[where.back()], i), options));
  }
  std::vector<ending> endings;
  for (ticket const& each : tasks) { endings.push_back(ending_of(each)); }
  std::vector<std::vector<word>> ran;
  for (auto const& each : counters) {
    auto values = read(each);
    if (!values) { return; }
    ran.push_back(std::move(*values));
  }
  bool broken = false;
  for (word i = 0; i < size; ++i) {
    if (broken) { EXPECT_NE(endings[i], ending::well) << "a predecessor failed"; }
    broken = broken || endings[i] != ending::well;
    note(endings[i], ran[where[i]][i]);
  }
}

void client::copies() {
  std::size_t const size = 1 + random_() % (std::size_t{1} << 18);
  std::vector<word> source(size);
  std::iota(source.begin(), source.end(), static_cast<word>(random_()));
  device_ordinal const from = any_device(), to = any_device();
  auto x = zeros(size, from), y = zeros(size, to);
  if (!x || !y) { return; }
  std::vector<word> result(size);
  ticket const up = rt_.submit(x->copy_from(source));
  ticket const across = rt_.submit(y->copy_from(*x), {.after = {up}});
  ticket const down = rt_.submit(y->copy_to(std::span{result}), {.after = {across}});
  bool well = true;
  for (ticket const* each : {&up, &across, &down}) {
    ending const how = ending_of(*each);
    well = well && how == ending::well;
    ++all_.tasks;
    if (how != ending::well) { ++all_.lost; }
    EXPECT_NE(how, ending::other);
  }
  if (well && result != source) {
    ADD_FAILURE() << "copies to device " << from.value << ", to device " << to.value
                  << ", to the host: " << difference(result, source);
  }
}

void client::bulk_of_items() {
  word const size = 1 + random_() % 1000;
  auto counters = zeros(size, any_device());
  if (!counters) { return; }
  bool const repeatable = random_() % 2 == 0;
  ticket const all = rt_.submit(bulk(count_.with_shape({1}, {1}), size,
                                     [&](std::size_t i) {
                                       return std::tuple{counters->span(), static_cast<word>(i)};
                                     }),
                                {.repeatable = repeatable});
  ending const how = ending_of(all);
  auto const ran = read(*counters);
  if (!ran) { return; }
  for (word const each : *ran) {
    note(how == ending::well ? how : ending::lost, each, repeatable ? 2 : 1);
  }
}

}  // namespace flotilla::test::chaos
