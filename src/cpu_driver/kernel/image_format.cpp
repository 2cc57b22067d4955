// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/image_format.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include <elf.h>

#include <flotilla/kernel_language/image_abi.hpp>

namespace flotilla::cpu_driver {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half own_machine = EM_AARCH64;
#else
#error "CPU devices need x86-64 or AArch64"
#endif

// A view of the readable bytes of a file, with bounds checks that cannot overflow.
class bytes_view {
 public:
  bytes_view(void const* data, std::size_t size)
      : data_(static_cast<unsigned char const*>(data)), size_(size) {}

  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }
  template <class T>
  [[nodiscard]] std::optional<T> read(std::uint64_t offset) const {
    if (!holds(offset, sizeof(T))) { return std::nullopt; }
    T value;
    std::memcpy(&value, data_ + offset, sizeof(T));
    return value;
  }
  [[nodiscard]] bool equal(std::uint64_t offset, void const* other, std::size_t length) const {
    return holds(offset, length) && std::memcmp(data_ + offset, other, length) == 0;
  }

 private:
  unsigned char const* data_;
  std::size_t size_;
};

constexpr std::uint64_t round_up_4(std::uint64_t n) { return (n + 3) / 4 * 4; }

// Whether a note segment contains flotilla's note with the current ABI version.
bool has_our_note(bytes_view file, Elf64_Phdr const& segment) {
  constexpr char owner[] = "flotilla";
  std::uint64_t at = segment.p_offset;
  // The caller has checked that the segment lies within the file.
  std::uint64_t const end = segment.p_offset + segment.p_filesz;
  while (end - at >= sizeof(Elf64_Nhdr)) {
    auto const note = file.read<Elf64_Nhdr>(at);
    if (!note) { return false; }
    std::uint64_t const name = at + sizeof(Elf64_Nhdr);
    std::uint64_t const value = name + round_up_4(note->n_namesz);
    std::uint64_t const next = value + round_up_4(note->n_descsz);
    if (next > end) { return false; }
    if (note->n_type == cpu::image_note_type && note->n_namesz == sizeof owner &&
        note->n_descsz == sizeof(std::uint32_t) && file.equal(name, owner, sizeof owner)) {
      return file.read<std::uint32_t>(value) == cpu::cpu_image::current_abi;
    }
    at = next;
  }
  return false;
}

}  // namespace

std::size_t cpu_image_bytes(void const* code, std::size_t available) noexcept {
  bytes_view const file{code, available};
  if (code == nullptr || !file.equal(0, ELFMAG, SELFMAG)) { return 0; }
  auto const header = file.read<Elf64_Ehdr>(0);
  // A cubin is also an ELF file, but has a different e_machine.
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_DYN ||
      header->e_machine != own_machine || header->e_phentsize != sizeof(Elf64_Phdr) ||
      header->e_phnum == 0) {
    return 0;
  }
  // No image is this large, so a larger offset is invalid. Sums of smaller offsets cannot overflow.
  constexpr std::uint64_t largest = std::uint64_t{1} << 40;
  if (header->e_phoff > largest || header->e_shoff > largest) { return 0; }

  // The file ends where the last header or segment ends. Most linkers, but not all, put the section
  // headers last.
  std::uint64_t end = header->e_shoff + std::uint64_t{header->e_shnum} * header->e_shentsize;
  end = std::max(end, header->e_phoff + std::uint64_t{header->e_phnum} * sizeof(Elf64_Phdr));
  if (!file.holds(0, end)) { return 0; }

  bool ours = false;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    auto const segment = file.read<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment || segment->p_offset > largest || segment->p_filesz > largest ||
        !file.holds(segment->p_offset, segment->p_filesz)) {
      return 0;
    }
    end = std::max(end, segment->p_offset + segment->p_filesz);
    ours = ours || (segment->p_type == PT_NOTE && has_our_note(file, *segment));
  }
  return ours ? end : 0;
}

}  // namespace flotilla::cpu_driver
