// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A fixture holds the contexts, runtimes and threads that a figure (a measured cost) needs.
// Creating a context takes 0.1 s. Therefore the last fixture is cached, and the next figure reuses
// this fixture if the options are the same. Only one fixture exists at a time, because even an idle
// runtime would disturb measurements.

#include <memory>
#include <utility>

namespace flotilla::bench {

class cached_fixture {
 public:
  cached_fixture() = default;
  cached_fixture(cached_fixture const&) = delete;
  cached_fixture& operator=(cached_fixture const&) = delete;
  virtual ~cached_fixture() = default;
};

/// The pointer to the cached fixture; null if there is none.
[[nodiscard]] std::unique_ptr<cached_fixture>& fixture_cache();

/// Destroys the cached fixture. Must be called before main() ends, because the driver may be
/// unloaded before static objects are destroyed.
void drop_fixture();

/// Returns the cached fixture if it is a `Fixture` with these options, else creates a new one.
/// `Fixture` must have a type `options` with operator==, a constructor that takes `options`, and a
/// member `created_with` that holds them.
template <class Fixture>
[[nodiscard]] Fixture& get_fixture(typename Fixture::options const& options) {
  auto* const cached = dynamic_cast<Fixture*>(fixture_cache().get());
  if (cached != nullptr && cached->created_with == options) { return *cached; }
  drop_fixture();  // only one fixture may exist at a time
  auto created = std::make_unique<Fixture>(options);
  Fixture& result = *created;
  fixture_cache() = std::move(created);
  return result;
}

}  // namespace flotilla::bench
