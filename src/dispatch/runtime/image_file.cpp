// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/image_file.hpp"

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string_view>

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

}  // namespace

std::string why_no_code_for(device_kind kind, std::string const& file) {
  std::array<char, 4096> bytes{};
  std::ifstream in{file, std::ios::binary};
  in.read(bytes.data(), bytes.size());
  std::string_view const start{bytes.data(), static_cast<std::size_t>(in.gcount())};
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
