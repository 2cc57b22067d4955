#include "rig.hpp"

namespace flotilla::bench {

std::unique_ptr<rig>& kept_rig() {
  static std::unique_ptr<rig> kept;
  return kept;
}

void drop_rig() { kept_rig().reset(); }

}  // namespace flotilla::bench
