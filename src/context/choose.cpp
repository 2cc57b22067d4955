#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <flotilla/driver_report.hpp>
#include <flotilla/error.hpp>

#include "context/description.hpp"
#include "cpu_driver/control.hpp"
#include "driver/library.hpp"

namespace flotilla::context {

namespace {

constexpr int most_cpu_devices = 64;
constexpr int most_parts = 1024;  // of one device

std::optional<int> number(std::string_view text) {
  int value = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value < 0) { return std::nullopt; }
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
  throw unknown_device("device specification '" + std::string{whole} + "': '" + std::string{part} + "' " + why);
}

std::string listing(std::vector<device> const& devices) {
  std::string text;
  for (device const& each : devices) {
    text += (text.empty() ? "" : "; ") + std::to_string(each.driver_ordinal) + " = " + each.name + ", " +
            each.uuid + ", " + each.pci_id;
  }
  return text.empty() ? "none" : text;
}

/// What follows a device's name: "/green:16*8" makes eight parts of it, of 16 multiprocessors each.
struct parts {
  unsigned multiprocessors = 0;
  int count = 0;  // 0: the device as a whole
};

/// Takes it off `part`.
parts take_parts(std::string_view& part, std::string_view whole) {
  std::size_t const slash = part.find('/');
  if (slash == std::string_view::npos) { return {}; }
  std::string_view text = part.substr(slash + 1);
  std::optional<int> times = 1;
  if (std::size_t const star = text.find('*'); star != std::string_view::npos) {
    times = number(text.substr(star + 1));
    text = text.substr(0, star);
  }
  std::optional<int> const each = text.starts_with("green:") ? number(text.substr(6)) : std::nullopt;
  if (!each || *each < 1 || !times || *times < 1 || *times > most_parts) {
    refuse(part, whole, "names no parts: /green:N is one of N multiprocessors, /green:N*K are K of them, at most " +
                          std::to_string(most_parts));
  }
  part = part.substr(0, slash);
  return {static_cast<unsigned>(*each), *times};
}

/// Adds a device, or its parts behind those it has.
void add_to(choice& chosen, device const& one, parts const& of, std::string_view part, std::string_view whole) {
  int next = 0;
  for (device const& each : chosen.devices) {
    if (each.driver_ordinal != one.driver_ordinal) { continue; }
    if (each.part < 0 && of.count == 0) { return; }  // named twice
    if (each.part < 0 || of.count == 0) { refuse(part, whole, "asks for a device as a whole and in parts"); }
    next = each.part + 1;
  }
  for (int i = 0; i < std::max(1, of.count); ++i) {
    chosen.devices.push_back(one);
    device& made = chosen.devices.back();
    made.ordinal = device_ordinal{static_cast<unsigned>(chosen.devices.size() - 1)};
    if (of.count != 0) { made.part = next + i; }
    chosen.sources.push_back(of.count == 0 ? std::nullopt : std::optional{context_source::green(of.multiprocessors)});
  }
}

choice cpu_devices(std::string_view part, std::string_view whole) {
  std::string_view const asked_for = part;
  parts const split_in = take_parts(part, whole);
  driver::opened const& cpu = driver::cpu_driver();
  int count = cpu.devices;
  if (part.starts_with("cpu:")) {
    std::optional<int> const asked = number(part.substr(4));
    if (!asked || *asked < 1 || *asked > most_cpu_devices) {
      refuse(part, whole, "is no count of CPU devices: cpu:N takes N from 1 to " + std::to_string(most_cpu_devices));
    }
    count = *asked;
  }
  driver::cpu_control().ensure_devices(count);
  choice made{cpu.api, {}, {}, cpu.text + "; " + driver::gpu_driver().text};
  for (device const& each : describe_all(*cpu.api, count)) { add_to(made, each, split_in, asked_for, whole); }
  return made;
}

class gpu_selection {
 public:
  explicit gpu_selection(std::string_view whole) : whole_{whole}, gpu_{driver::gpu_driver()} {
    if (gpu_.api == nullptr) {
      throw no_device("device specification '" + std::string{whole} + "' asks for GPUs: " + gpu_.text);
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
    // "cuda:0,2" was split at its comma: a bare number goes on with what "cuda:" began
    std::string_view const digits = part.starts_with("cuda:") ? part.substr(5) : part;
    if (std::optional<int> const ordinal = number(digits)) {
      if (*ordinal >= static_cast<int>(all_.size())) { refuse(part, whole_, "is no GPU; there are " + listing(all_)); }
      take(all_[static_cast<std::size_t>(*ordinal)]);
      return;
    }
    for (device const& each : all_) {
      if (same(part, each.uuid) || same(part, each.pci_id)) {
        take(each);
        return;
      }
    }
    refuse(part, whole_, "names no device; there are " + listing(all_));
  }
  choice result() && {
    chosen_.api = gpu_.api;
    chosen_.text = gpu_.text;
    return std::move(chosen_);
  }

 private:
  static bool same(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
      return std::tolower(x) == std::tolower(y);
    });
  }
  void take(device const& one) { add_to(chosen_, one, split_in_, asked_for_, whole_); }
  std::string_view whole_;
  driver::opened const& gpu_;
  std::vector<device> all_;
  std::string_view asked_for_;
  parts split_in_;
  choice chosen_{};
};

/// A name that no GPU can have: said as unknown, not as "there is no GPU".
bool could_name_a_gpu(std::string_view part) {
  return part == "cuda" || part.starts_with("cuda:") || part.starts_with("cuda/") || part.starts_with("GPU-") || part.starts_with("gpu-") ||
         part.starts_with("MIG-") || part.find(':') != std::string_view::npos;
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
    if (part == "auto" || is_cpu(part)) {
      refuse(part, specification, "stands alone: one driver serves a runtime");
    }
    bool const continues = part != names.front() && number(part.substr(0, part.find('/'))).has_value();
    if (!continues && !could_name_a_gpu(part)) {
      refuse(part, specification, "is none of auto, cpu, cpu:N, cuda, cuda:N, a UUID or a PCI id, nor such a one with /green:N*K");
    }
  }
  gpu_selection some{specification};
  for (std::string_view const part : names) { some.add(part); }
  return std::move(some).result();
}

}  // namespace flotilla::context

namespace flotilla {

driver_report describe_drivers() {
  driver::opened const& gpu = driver::gpu_driver();
  driver::opened const& cpu = driver::cpu_driver();
  driver_report made;
  made.gpus = gpu.api != nullptr;
  made.gpu_text = gpu.text;
  made.cpu_text = cpu.text;
  made.devices = made.gpus ? context::describe_all(*gpu.api, gpu.devices)
                           : context::describe_all(*cpu.api, cpu.devices);
  return made;
}

}  // namespace flotilla
