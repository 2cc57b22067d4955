// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/image_file.hpp"

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>

namespace flotilla::dispatch {

namespace {

constexpr std::string_view fatbin_magic{"\x50\xed\x55\xba", 4};
constexpr Elf64_Half machine_of_gpus = 190;  // EM_CUDA; elf.h of old systems does not have it

/// Returns the processor of an ELF file, or EM_NONE if `start` is not the start of an ELF file.
Elf64_Half machine_of(std::string_view start) noexcept {
  if (start.size() < sizeof(Elf64_Ehdr) || !start.starts_with(ELFMAG)) { return EM_NONE; }
  Elf64_Ehdr header;
  std::memcpy(&header, start.data(), sizeof header);
  return header.e_machine;
}

/// The header of a fatbin. CUDA's fatbinary_section.h and nvcc's output agree on it.
struct fatbin_header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  // without the header
};

/// Returns the sum, or the greatest number if there is no such number: a header may say anything.
std::uint64_t bounded_sum(std::uint64_t one, std::uint64_t other) noexcept {
  return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

/// Returns how many bytes the file must have at least, according to its header.
std::uint64_t bytes_by_header(std::string_view start) noexcept {
  if (start.starts_with(fatbin_magic)) {
    fatbin_header header{};
    if (start.size() < sizeof header) { return sizeof header; }
    std::memcpy(&header, start.data(), sizeof header);
    return bounded_sum(header.header_bytes, header.bytes);
  }
  if (start.starts_with(ELFMAG)) {
    Elf64_Ehdr header{};
    if (start.size() < sizeof header) { return sizeof header; }
    std::memcpy(&header, start.data(), sizeof header);
    std::uint64_t const sections = std::uint64_t{header.e_shnum} * header.e_shentsize;
    return header.e_shoff == 0 ? sizeof header : bounded_sum(header.e_shoff, sections);
  }
  return 0;
}

/// Reads the first bytes of a file. @return how many bytes the file had.
std::size_t read_start(std::string const& file, std::span<char> to) {
  std::ifstream in{file, std::ios::binary};
  in.read(to.data(), static_cast<std::streamsize>(to.size()));
  return static_cast<std::size_t>(in.gcount());
}

}  // namespace

std::string why_truncated(std::string const& file) {
  std::array<char, sizeof(Elf64_Ehdr)> bytes{};
  std::uint64_t const needed = bytes_by_header({bytes.data(), read_start(file, bytes)});
  std::error_code failed;
  std::uintmax_t const found = std::filesystem::file_size(file, failed);
  if (failed || found >= needed) { return {}; }
  return "the file is truncated: it has " + std::to_string(found) +
         " bytes, but its header says that there are at least " + std::to_string(needed);
}

std::string why_no_code_for(device_kind kind, std::string const& file) {
  std::array<char, 4096> bytes{};
  std::string_view const start{bytes.data(), read_start(file, bytes)};
  Elf64_Half const machine = machine_of(start);
  bool const is_ptx = start.find(".version") != start.npos && start.find(".target") != start.npos;
  bool const is_for_gpus = start.starts_with(fatbin_magic) || machine == machine_of_gpus || is_ptx;
  if (kind == device_kind::cpu && is_for_gpus) {
    return "; the file has code for GPUs only, but the devices of this runtime are CPU devices. "
           "flotilla_add_kernels() creates images for both";
  }
  if (kind == device_kind::gpu && machine != EM_NONE && machine != machine_of_gpus) {
    return "; the file has code for CPUs only, but the devices of this runtime are GPUs. "
           "flotilla_add_kernels() creates images for both";
  }
  return {};
}

}  // namespace flotilla::dispatch
