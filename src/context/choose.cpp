// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <flotilla/error/error.hpp>

#include "base/ascii.hpp"
#include "context/description.hpp"
#include "driver/cpu_devices.hpp"
#include "driver/library.hpp"

namespace flotilla::context {

namespace {

constexpr int max_cpu_devices = 64;
constexpr int max_parts = 1024;          // per entry of a specification
constexpr std::size_t max_chosen = 255;  // of a runtime: an end_mark has eight bits for the device

std::optional<int> number(std::string_view text) {
  int value = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    std::size_t const comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (!part.empty() && part.front() == ' ') { part.remove_prefix(1); }
    while (!part.empty() && part.back() == ' ') { part.remove_suffix(1); }
    parts.push_back(part);
    if (comma == std::string_view::npos) { return parts; }
    text.remove_prefix(comma + 1);
  }
}

[[noreturn]] void refuse(std::string_view part, std::string_view whole, std::string const& why) {
  throw unknown_device("device specification '" + std::string{whole} + "': '" + std::string{part} +
                       "' " + why);
}

std::string listing(std::vector<device> const& devices) {
  std::string text;
  for (device const& each : devices) {
    text += (text.empty() ? "" : "; ") + std::to_string(each.driver_ordinal) + " = " + each.name +
            ", " + each.uuid + ", " + each.pci_id;
  }
  return text.empty() ? "none" : text;
}

/// The suffix of a device's name. For example, "/green:16*8" means eight parts of 16
/// multiprocessors each.
struct parts {
  unsigned multiprocessors = 0;
  int count = 0;  // 0 means the whole device
};

/// Parses the suffix of `part`, an entry of the specification, and removes the suffix from `part`.
parts take_parts(std::string_view& part, std::string_view whole) {
  std::size_t const slash = part.find('/');
  if (slash == std::string_view::npos) { return {}; }
  std::string_view text = part.substr(slash + 1);
  std::optional<int> times = 1;
  if (std::size_t const star = text.find('*'); star != std::string_view::npos) {
    times = number(text.substr(star + 1));
    text = text.substr(0, star);
  }
  std::optional<int> const each =
      text.starts_with("green:") ? number(text.substr(6)) : std::nullopt;
  if (!each || *each < 1 || !times || *times < 1 || *times > max_parts) {
    refuse(part, whole,
           "has an invalid suffix; write /green:N for one part of N multiprocessors, or /green:N*K "
           "for K parts, where K is at most " +
               std::to_string(max_parts));
  }
  part = part.substr(0, slash);
  return {static_cast<unsigned>(*each), *times};
}

/// Adds a device, or parts of a device. The numbering of the parts continues after the parts of
/// this device that were added before.
void add_to(choice& chosen, device const& one, parts const& of, std::string_view part,
            std::string_view whole) {
  int next = 0;
  for (device const& each : chosen.devices) {
    if (each.driver_ordinal != one.driver_ordinal) { continue; }
    if (each.part < 0 && of.count == 0) { return; }  // the device is already chosen
    if (each.part < 0 || of.count == 0) {
      refuse(part, whole,
             "names a device that the specification requests both as a whole and in parts");
    }
    next = each.part + 1;
  }
  auto const added = static_cast<std::size_t>(std::max(1, of.count));
  if (chosen.devices.size() + added > max_chosen) {
    refuse(part, whole,
           "makes " + std::to_string(chosen.devices.size() + added) +
               " devices, but a runtime has at most " + std::to_string(max_chosen));
  }
  for (int i = 0; i < std::max(1, of.count); ++i) {
    chosen.devices.push_back(one);
    device& made = chosen.devices.back();
    made.ordinal = device_ordinal{static_cast<unsigned>(chosen.devices.size() - 1)};
    if (of.count != 0) { made.part = next + i; }
    chosen.sources.push_back(
        of.count == 0 ? std::nullopt : std::optional{context_source::green(of.multiprocessors)});
  }
}

choice cpu_devices(std::string_view part, std::string_view whole) {
  std::string_view const asked_for = part;
  parts const split_in = take_parts(part, whole);
  driver::opened const& cpu = driver::cpu_driver();
  int count = cpu.devices;
  if (part.starts_with("cpu:")) {
    std::optional<int> const asked = number(part.substr(4));
    if (!asked || *asked < 1 || *asked > max_cpu_devices) {
      refuse(part, whole,
             "is not a number of CPU devices; write cpu:N with N between 1 and " +
                 std::to_string(max_cpu_devices));
    }
    count = *asked;
  }
  driver::ensure_cpu_devices(count);
  choice made{cpu.api, {}, {}, cpu.text + "; " + driver::gpu_driver().text};
  for (device const& each : describe_all(*cpu.api, count)) {
    add_to(made, each, split_in, asked_for, whole);
  }
  return made;
}

class gpu_selection {
 public:
  explicit gpu_selection(std::string_view whole) : whole_{whole}, gpu_{driver::gpu_driver()} {
    if (gpu_.api == nullptr) {
      throw no_device("device specification '" + std::string{whole} +
                      "' requests GPUs, but no GPU is usable: " + gpu_.text);
    }
    all_ = describe_all(*gpu_.api, gpu_.devices);
  }
  void add(std::string_view part) {
    asked_for_ = part;
    split_in_ = take_parts(part, whole_);
    if (part == "cuda") {
      for (device const& each : all_) { take(each); }
      return;
    }
    // `split` cuts "cuda:0,2" into "cuda:0" and "2". Therefore a number without "cuda:" is also the
    // ordinal of a GPU.
    std::string_view const digits = part.starts_with("cuda:") ? part.substr(5) : part;
    if (std::optional<int> const ordinal = number(digits)) {
      if (*ordinal >= static_cast<int>(all_.size())) {
        refuse(part, whole_, "is not a GPU; the GPUs are " + listing(all_));
      }
      take(all_[static_cast<std::size_t>(*ordinal)]);
      return;
    }
    for (device const& each : all_) {
      if (same(part, each.uuid) || same(part, each.pci_id)) {
        take(each);
        return;
      }
    }
    refuse(part, whole_, "is not a device; the devices are " + listing(all_));
  }
  choice result() && {
    chosen_.api = gpu_.api;
    chosen_.text = gpu_.text;
    return std::move(chosen_);
  }

 private:
  static bool same(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return base::to_lower(x) == base::to_lower(y); });
  }
  void take(device const& one) { add_to(chosen_, one, split_in_, asked_for_, whole_); }
  std::string_view whole_;
  driver::opened const& gpu_;
  std::vector<device> all_;
  std::string_view asked_for_;
  parts split_in_;
  choice chosen_{};
};

/// Whether `part` looks like the name of a GPU. choose() reports any other text as an unknown
/// device, even on a machine without GPUs.
bool could_name_a_gpu(std::string_view part) {
  std::string_view const device = part.substr(0, part.find('/'));
  bool const could_be_pci_id =
      device.find(':') != std::string_view::npos &&
      device.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
  return part == "cuda" || part.starts_with("cuda:") || part.starts_with("cuda/") ||
         part.starts_with("GPU-") || part.starts_with("gpu-") || part.starts_with("MIG-") ||
         could_be_pci_id;
}

bool is_cpu(std::string_view part) {
  return part == "cpu" || part.starts_with("cpu:") || part.starts_with("cpu/");
}

}  // namespace

choice choose(std::string_view specification) {
  if (specification.empty()) {
    char const* const environment = std::getenv("FLOTILLA_DEVICES");
    specification = environment != nullptr && *environment != '\0' ? environment : "auto";
  }
  std::vector<std::string_view> const names = split(specification);
  if (names.size() == 1) {
    if (names[0] == "auto") {
      if (driver::gpu_driver().api != nullptr) {
        gpu_selection all{specification};
        all.add("cuda");
        return std::move(all).result();
      }
      return cpu_devices("cpu", specification);
    }
    if (is_cpu(names[0])) { return cpu_devices(names[0], specification); }
  }
  for (std::string_view const part : names) {
    if (part.empty()) {
      refuse(part, specification, "is empty; name a device there, or leave it out");
    }
  }
  if (std::ranges::all_of(names, is_cpu)) {
    refuse(names[1], specification,
           "is a second request for CPU devices; write cpu:N with the number of all of them");
  }
  for (std::string_view const part : names) {
    if (part == "auto" || is_cpu(part)) {
      refuse(part, specification,
             "cannot be combined with other devices, because a runtime uses only one driver");
    }
    bool const continues =
        part != names.front() && number(part.substr(0, part.find('/'))).has_value();
    if (!continues && !could_name_a_gpu(part)) {
      refuse(
          part, specification,
          "is not a device; write auto, cpu, cpu:N, cuda, cuda:N, a UUID or a PCI id; all except "
          "auto accept the suffix /green:N*K");
    }
  }
  gpu_selection some{specification};
  for (std::string_view const part : names) { some.add(part); }
  return std::move(some).result();
}

}  // namespace flotilla::context
