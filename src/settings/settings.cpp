// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/settings/settings.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>
#include <utility>

#include <flotilla/error/error.hpp>

#include "settings/value_text.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

/// The name of a setting and the operations on its member in device_settings.
struct key {
  std::string_view name;
  void (*set)(device_settings& into, std::string_view name, std::string_view value);
  std::string (*text)(device_settings const& of);
  void (*fill)(device_settings& into, device_settings const& lower);
};

/// @tparam As  The type that determines the text form of the value. A std::size_t is a size and may
///             have a unit. An `unsigned` is a count and has no unit.
template <auto Member,
          class As = typename std::remove_cvref_t<decltype(device_settings{}.*Member)>::value_type>
constexpr key make(std::string_view name) {
  return {name,
          [](device_settings& into, std::string_view called, std::string_view value) {
            As read{};
            settings_text::read(called, value, read);
            into.*Member = read;
          },
          [](device_settings const& of) {
            return of.*Member ? settings_text::write(static_cast<As>(*(of.*Member)))
                              : std::string{};
          },
          [](device_settings& into, device_settings const& lower) {
            if (!(into.*Member)) { into.*Member = lower.*Member; }
          }};
}

using own = device_settings;
constexpr std::array keys{
    make<&own::context>("context"),
    make<&own::schedule>("schedule"),
    make<&own::map_host>("map_host"),
    make<&own::lmem_resize_to_max>("lmem_resize_to_max"),
    make<&own::coredump>("coredump"),
    make<&own::user_coredump>("user_coredump"),
    make<&own::sync_memops>("sync_memops"),
    make<&own::cache>("cache"),
    make<&own::bank_size>("bank_size"),
    make<&own::stack_bytes>("limits.stack"),
    make<&own::printf_fifo_bytes>("limits.printf_fifo"),
    make<&own::malloc_heap_bytes>("limits.malloc_heap"),
    make<&own::sync_depth, unsigned>("limits.sync_depth"),
    make<&own::pending_launches, unsigned>("limits.pending_launches"),
    make<&own::l2_fetch_granularity>("limits.l2_fetch_granularity"),
    make<&own::persisting_l2_bytes>("limits.persisting_l2"),
    make<&own::exec_affinity>("exec_affinity"),
    make<&own::lanes>("lanes"),
    make<&own::window, unsigned>("window"),
    make<&own::peer_access>("peer_access"),
    make<&own::device_side_waits>("device_side_waits"),
    make<&own::numa_placement>("numa_placement"),
    make<&own::isolation>("isolation"),
    make<&own::spare>("spare"),
    make<&own::restart_intensity>("restart.intensity"),
    make<&own::restart_period_ms>("restart.period_ms"),
    make<&own::restart_back_off_ms>("restart.back_off_ms"),
    make<&own::stuck_after>("stuck_after"),
};

constexpr auto all_names = [] {
  std::array<std::string_view, keys.size()> made{};
  for (std::size_t i = 0; i < keys.size(); ++i) { made[i] = keys[i].name; }
  return made;
}();

key const& find(std::string_view name) {
  auto const* const found =
      std::find_if(keys.begin(), keys.end(), [&](key const& each) { return each.name == name; });
  if (found == keys.end()) {
    std::string all;
    for (std::string_view const each : all_names) {
      all += (all.empty() ? "" : ", ") + std::string{each};
    }
    throw unknown_setting("'" + std::string{name} + "' is not a setting; the settings are " + all);
  }
  return *found;
}

}  // namespace

device_settings device_settings::over(device_settings const& lower) const {
  device_settings made = *this;
  for (key const& each : keys) { each.fill(made, lower); }
  return made;
}

void device_settings::set(std::string_view name, std::string_view value) {
  find(name).set(*this, name, value);
}
std::string device_settings::text(std::string_view name) const { return find(name).text(*this); }
std::span<std::string_view const> device_settings::names() noexcept { return all_names; }

void settings::set(std::string_view name, std::string_view value) {
  std::size_t const colon = name.find(':');
  if (colon == std::string_view::npos) {
    all.set(name, value);
    return;
  }
  std::string_view const number = name.substr(0, colon);
  unsigned ordinal = 0;
  auto const [end, failed] = std::from_chars(number.data(), number.data() + number.size(), ordinal);
  if (failed != std::errc{} || end != number.data() + number.size()) {
    throw unknown_setting("setting '" + std::string{name} + "': '" + std::string{number} +
                          "' is not a device number; write N:name, such as 0:cache");
  }
  device_settings changed = devices.contains(ordinal) ? devices[ordinal] : device_settings{};
  changed.set(name.substr(colon + 1), value);
  devices[ordinal] = changed;  // after `set`, so that an invalid value leaves no empty entry
}

settings settings::parse(std::string_view text) {
  using settings_text::trimmed;
  settings made;
  std::map<std::string, std::string, std::less<>> seen;
  for (bool more = !trimmed(text).empty(); more;) {
    std::size_t const comma = text.find(',');
    std::string_view const pair = trimmed(text.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) { text.remove_prefix(comma + 1); }
    std::size_t const equals = pair.find('=');
    if (equals == std::string_view::npos) {
      throw unknown_setting("'" + std::string{pair} + "' is not a setting; write key=value");
    }
    std::string_view const name = trimmed(pair.substr(0, equals));
    std::string_view const value = trimmed(pair.substr(equals + 1));
    made.set(name, value);
    auto const [before, is_new] = seen.try_emplace(std::string{name}, value);
    if (!is_new && before->second != value) {
      throw unknown_setting("'" + std::string{pair} + "' contradicts the earlier '" +
                            before->first + "=" + before->second + "'");
    }
  }
  return made;
}

device_settings settings::of(unsigned ordinal) const {
  auto const found = devices.find(ordinal);
  return found == devices.end() ? all : found->second.over(all);
}

settings settings::over(settings const& lower) const {
  settings made;
  made.all = all.over(lower.all);
  for (settings const* each : {this, &lower}) {
    for (auto const& [ordinal, unused] : each->devices) {
      // A setting for all devices in `*this` overrides a setting for a single device in `lower`.
      made.devices[ordinal] = of(ordinal).over(lower.of(ordinal));
    }
  }
  return made;
}

}  // namespace v0_1
}  // namespace flotilla
