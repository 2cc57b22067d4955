// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/loaded_image.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <flotilla/detail/ordered_twin.hpp>

#include "base/refusal.hpp"
#include "cpu_driver/kernel/image_format.hpp"

namespace flotilla::cpu_driver {
namespace {

thread_local std::string last_error;

/// Makes a file in memory with these bytes. @throws std::system_error
file_descriptor file_of(void const* code, std::size_t bytes) {
  file_descriptor file{::memfd_create("flotilla kernels", MFD_CLOEXEC)};
  if (file.get() < 0) {
    throw std::system_error(errno, std::generic_category(),
                            "the system refused memfd_create, through which kernels are loaded" +
                                base::limits_text(base::limits_of_descriptors));
  }
  int const error = base::write_all(file.get(), {static_cast<char const*>(code), bytes});
  if (error != 0) {
    throw std::system_error(error, std::generic_category(),
                            "the " + std::to_string(bytes) +
                                " bytes of the kernels could not be written to a memory file" +
                                base::limits_text(base::limits_of_files));
  }
  return file;
}

// Returns the name of this process's folder in /proc. It is not getpid() if /proc shows a PID
// namespace other than that of this process.
std::string process_in_proc() {
  char number[24];
  ssize_t const length = ::readlink("/proc/self", number, sizeof number);
  return length > 0 ? std::string(number, static_cast<std::size_t>(length)) : "self";
}

// Returns a path to `fd` that differs from the paths of all earlier calls. The dynamic loader does
// not load the same path a second time, and the system reuses descriptor numbers. Therefore the
// path also encodes a counter: each bit is "/" or "/.".
//
// The path contains the number of this process, because a debugger opens the same path. In the
// debugger, "/proc/self" would be the debugger itself.
std::string path_never_used(int fd) {
  static std::atomic<std::uint64_t> calls{0};
  std::string path = "/proc/" + process_in_proc() + "/fd";
  // relaxed: the number only has to be unique.
  for (auto n = calls.fetch_add(1, std::memory_order_relaxed); n != 0; n >>= 1) {
    path += (n & 1) != 0 ? "/." : "/";
  }
  return path + "/" + std::to_string(fd);
}

}  // namespace

bool loaded_image::recognised(void const* code, std::size_t bytes) noexcept {
  return cpu_image_bytes(code, bytes) != 0;
}

char const* loaded_image::load_error() noexcept { return last_error.c_str(); }

std::shared_ptr<loaded_image const> loaded_image::load(void const* code, std::size_t bytes) {
  last_error.clear();
  std::size_t const size = cpu_image_bytes(code, bytes);
  if (size == 0) {
    last_error = "the bytes are not a CPU image for this processor and this version of flotilla";
    return nullptr;
  }
  file_descriptor file = file_of(code, size);
  // RTLD_LOCAL: a copy must not use the symbols of another copy. RTLD_NOW: a missing symbol causes
  // an error here instead of a crash in a kernel.
  void* const handle = ::dlopen(path_never_used(file.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    char const* const why = ::dlerror();
    last_error = why != nullptr ? why : "dlopen failed";
    last_error += base::limits_text({RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA});
    return nullptr;
  }
  auto const* const image =
      static_cast<cpu::cpu_image const*>(::dlsym(handle, "flotilla_cpu_image"));
  if (image == nullptr || image->abi != cpu::cpu_image::current_abi) {
    last_error = "the image has no kernel table for this version of flotilla";
    ::dlclose(handle);
    return nullptr;
  }
  return std::shared_ptr<loaded_image const>(new loaded_image(std::move(file), handle, image));
}

loaded_image::loaded_image(file_descriptor file, void* handle, cpu::cpu_image const* image)
    : file_(std::move(file)), handle_(handle), image_(image) {
  make_twins();
}

void loaded_image::make_twins() {
  auto const wants_none = [this](std::string_view kernel) {
    return std::any_of(globals().begin(), globals().end(), [&](cpu::global_record const& each) {
      std::string_view const name{each.name};
      return name.starts_with(detail::no_twin_prefix) &&
             name.substr(detail::no_twin_prefix.size()) == kernel;
    });
  };
  twins_.reserve(2 * kernels().size());  // a record refers to the name in its element
  auto const make = [this](cpu::kernel_record const& of, std::string_view suffix, auto& sizes,
                           auto& offsets) {
    twin& made = twins_.emplace_back(twin{std::string{of.name} + std::string{suffix}, of, &of});
    made.record.name = made.name.c_str();
    made.record.parameter_count = std::size(sizes);
    made.record.parameter_sizes = sizes;
    made.record.parameter_offsets = offsets;
  };
  for (cpu::kernel_record const& each : kernels()) {
    if (wants_none(each.name)) { continue; }
    make(each, detail::twin_suffix, detail::twin_parameter_sizes, detail::twin_parameter_offsets);
    make(each, detail::ordered_twin_suffix, detail::ordered_twin_parameter_sizes,
         detail::ordered_twin_parameter_offsets);
  }
}

cpu::kernel_record const* loaded_image::find(std::string_view name) const noexcept {
  auto const kernel =
      std::find_if(kernels().begin(), kernels().end(),
                   [name](cpu::kernel_record const& each) { return each.name == name; });
  if (kernel != kernels().end()) { return &*kernel; }
  if (name.find(detail::twin_mark) == std::string_view::npos) { return nullptr; }
  auto const found = std::find_if(twins_.begin(), twins_.end(),
                                  [name](twin const& each) { return each.name == name; });
  return found != twins_.end() ? &found->record : nullptr;
}

cpu::kernel_record const* loaded_image::twin_of(cpu::kernel_record const& record) const noexcept {
  // The image's own table of kernels is one array, so one comparison excludes most records.
  if (!kernels().empty() && !std::less<>{}(&record, kernels().data()) &&
      std::less<>{}(&record, kernels().data() + kernels().size())) {
    return nullptr;
  }
  auto const found = std::find_if(twins_.begin(), twins_.end(),
                                  [&](twin const& each) { return &each.record == &record; });
  return found != twins_.end() ? found->of : nullptr;
}

file_descriptor::~file_descriptor() {
  if (fd_ >= 0) { ::close(fd_); }
}

loaded_image::~loaded_image() { ::dlclose(handle_); }

}  // namespace flotilla::cpu_driver
