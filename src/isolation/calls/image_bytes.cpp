// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/calls/image_bytes.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace flotilla::isolated {

namespace {

constexpr std::uint32_t wrapper_magic = 0x466243b1;
constexpr std::uint32_t fat_binary_magic = 0xba55ed50;

template <class Type>
Type read(void const* code, std::size_t at) noexcept {
  Type value{};
  std::memcpy(&value, static_cast<std::byte const*>(code) + at, sizeof value);
  return value;
}

std::size_t elf_bytes(void const* code) noexcept {
  auto const head = read<Elf64_Ehdr>(code, 0);
  if (head.e_ident[EI_CLASS] != ELFCLASS64) { return 0; }
  std::size_t end = std::max<std::size_t>(
      sizeof head, head.e_shoff + std::size_t{head.e_shnum} * head.e_shentsize);
  end = std::max<std::size_t>(end, head.e_phoff + std::size_t{head.e_phnum} * head.e_phentsize);
  for (std::size_t i = 0; i < head.e_phnum; ++i) {
    auto const part = read<Elf64_Phdr>(code, head.e_phoff + i * head.e_phentsize);
    end = std::max<std::size_t>(end, part.p_offset + part.p_filesz);
  }
  for (std::size_t i = 0; i < head.e_shnum; ++i) {
    auto const part = read<Elf64_Shdr>(code, head.e_shoff + i * head.e_shentsize);
    if (part.sh_type != SHT_NOBITS) {
      end = std::max<std::size_t>(end, part.sh_offset + part.sh_size);
    }
  }
  return end;
}

}  // namespace

void const* unwrapped_image(void const* code) noexcept {
  constexpr std::size_t address_at = 8;
  return read<std::uint32_t>(code, 0) == wrapper_magic ? read<void const*>(code, address_at) : code;
}

std::size_t image_bytes(void const* code, bool may_be_text) noexcept {
  // Compare byte by byte: the text of PTX may be shorter than a magic number.
  auto const* const text = static_cast<char const*>(code);
  if (std::strncmp(text, ELFMAG, SELFMAG) == 0) { return elf_bytes(code); }
  if (!may_be_text) { return sizeof(std::uint32_t); }
  if (static_cast<unsigned char>(text[0]) == (fat_binary_magic & 0xff) &&
      read<std::uint32_t>(code, 0) == fat_binary_magic) {
    constexpr std::size_t header_bytes_at = 6;
    constexpr std::size_t bytes_at = 8;
    return read<std::uint16_t>(code, header_bytes_at) + read<std::uint64_t>(code, bytes_at);
  }
  return std::strlen(text) + 1;
}

}  // namespace flotilla::isolated
