#include "cpu_driver/resolver.hpp"

#include "cpu_driver/api.hpp"

// As a drop-in these are the toolkit's own declarations, some of which it calls deprecated.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace flotilla::cpu_driver {
namespace {

struct entry {
  char const* name;
  int version;
  void* address;
};

// A function, for its initialiser: addresses of functions are no constant expressions as void*.
template <class Visit>
void for_each_entry(Visit visit) noexcept {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) \
  visit(entry{#name, version, reinterpret_cast<void*>(&symbol)});
#include "cpu_driver/extra_entries.inc"
#include "driver/entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
}

}  // namespace

void* resolve(char const* name, int version) noexcept {
  entry best{nullptr, -1, nullptr};
  for_each_entry([&](entry const& each) {
    if (name == std::string_view(each.name) && each.version <= version &&
        each.version > best.version) {
      best = each;
    }
  });
  return best.address;
}

bool implemented(std::string_view name) noexcept {
  bool found = false;
  for_each_entry([&](entry const& each) { found |= name == each.name; });
  return found;
}

}  // namespace flotilla::cpu_driver
