#pragma once
// What a row needs set up. A row's function is called many times, to find out how many iterations
// it takes and for every repetition; contexts take 0.1 s each to make. So the last rig is kept, and
// used again while the same is asked for. There is never a second one: even idle it would be in the
// way.

#include <memory>
#include <utility>

namespace flotilla::bench {

class rig {
 public:
  rig() = default;
  rig(rig const&) = delete;
  rig& operator=(rig const&) = delete;
  virtual ~rig() = default;
};

[[nodiscard]] std::unique_ptr<rig>& kept_rig();

/// Ends the last rig. To be called before main() ends: a driver may be gone when destructors of
/// statics run.
void drop_rig();

/// The kept rig if it is a `Rig` of that shape, else a new one. A `Rig` has a type `shape` that can
/// be compared, a constructor that takes one, and remembers it as `made_as`.
template <class Rig>
[[nodiscard]] Rig& rig_for(typename Rig::shape const& wanted) {
  auto* const kept = dynamic_cast<Rig*>(kept_rig().get());
  if (kept != nullptr && kept->made_as == wanted) { return *kept; }
  drop_rig();  // before the next one is made
  auto made = std::make_unique<Rig>(wanted);
  Rig& result = *made;
  kept_rig() = std::move(made);
  return result;
}

}  // namespace flotilla::bench
