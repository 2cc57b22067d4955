#pragma once
// The setup of a figure: contexts, runtimes, threads. Contexts take 0.1 s each to create, so the
// last fixture is kept and used again while the same one is asked for. Only one exists at a time,
// because even an idle runtime would disturb measurements.

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

/// The slot that holds the cached fixture, or null.
[[nodiscard]] std::unique_ptr<cached_fixture>& fixture_cache();

/// Destroys the cached fixture. Call it before main() ends: a driver may be unloaded before static
/// objects are destroyed.
void drop_fixture();

/// The cached fixture if it is a `Fixture` with these options, else a new one. A `Fixture` has a
/// comparable type `options`, a constructor that takes it, and a member `created_with`.
template <class Fixture>
[[nodiscard]] Fixture& get_fixture(typename Fixture::options const& options) {
  auto* const cached = dynamic_cast<Fixture*>(fixture_cache().get());
  if (cached != nullptr && cached->created_with == options) { return *cached; }
  drop_fixture();  // before the new one is created
  auto created = std::make_unique<Fixture>(options);
  Fixture& result = *created;
  fixture_cache() = std::move(created);
  return result;
}

}  // namespace flotilla::bench
