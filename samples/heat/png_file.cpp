// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "png_file.hpp"

#include <png.h>

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace heat {

namespace {

constexpr int bits = 16;
constexpr float white = 65535;

/// A gray picture with 16 bits for each cell, and the first byte of each row for libpng. PNG files
/// have the high byte first.
struct gray_picture {
  std::size_t rows = 0, columns = 0;
  std::vector<png_byte> bytes{};
  std::vector<png_bytep> row_pointers{};

  void resize(std::size_t row_count, std::size_t column_count) {
    rows = row_count;
    columns = column_count;
    bytes.resize(rows * columns * 2);
    row_pointers.resize(rows);
    for (std::size_t r = 0; r < rows; ++r) { row_pointers[r] = bytes.data() + r * columns * 2; }
  }
};

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
  throw std::runtime_error(path + ": " + why);
}

using file_pointer = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
file_pointer open_file(std::string const& path, char const* mode) {
  file_pointer opened{std::fopen(path.c_str(), mode), &std::fclose};
  if (opened == nullptr) { refuse(path, std::string{"cannot be opened: "} + std::strerror(errno)); }
  return opened;
}

/// Keeps the text of an error and jumps to the caller of libpng, which must not be left by an
/// exception. The functions with `setjmp` below have no objects with destructors, because a jump
/// runs no destructors.
[[noreturn]] void keep_error(png_structp png, png_const_charp text) {
  *static_cast<std::string*>(png_get_error_ptr(png)) = text;
  png_longjmp(png, 1);
}
void ignore_warning(png_structp, png_const_charp) {}

/// Reads the size. @return false if libpng found an error.
bool read_header(png_structp png, png_infop info, std::FILE* file) {
  if (setjmp(png_jmpbuf(png)) != 0) { return false; }
  constexpr png_uint_32 any = PNG_UINT_31_MAX;  // check_size has narrower limits
  png_set_user_limits(png, any, any);
  png_init_io(png, file);
  png_read_info(png, info);
  return true;
}

/// Reads the cells, as gray values of 16 bits. @return false if libpng found an error.
bool read_cells(png_structp png, png_infop info, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) { return false; }
  png_set_expand_16(png);  // also palettes, and gray values of less than 8 bits
  png_set_strip_alpha(png);
  if ((png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) != 0) {
    constexpr double standard_weight = -1;
    png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, standard_weight, standard_weight);
  }
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

/// @return false if libpng found an error.
bool write_cells(png_structp png, png_infop info, std::FILE* file, gray_picture& from) {
  if (setjmp(png_jmpbuf(png)) != 0) { return false; }
  png_init_io(png, file);
  png_set_IHDR(png, info, static_cast<png_uint_32>(from.columns),
               static_cast<png_uint_32>(from.rows), bits, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  constexpr int fast = 1;  // higher levels need several times as long for a few percent
  png_set_compression_level(png, fast);
  png_write_info(png, info);
  png_write_image(png, from.row_pointers.data());
  png_write_end(png, info);
  return true;
}

/// The state of libpng while it reads a file.
class png_reader {
 public:
  png_reader()
      : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &error, &keep_error, &ignore_warning)),
        info_(png_ != nullptr ? png_create_info_struct(png_) : nullptr) {
    if (info_ == nullptr) { error = "libpng cannot be used"; }
  }
  png_reader(png_reader const&) = delete;
  png_reader& operator=(png_reader const&) = delete;
  ~png_reader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  [[nodiscard]] bool open(std::FILE* file) {
    return info_ != nullptr && read_header(png_, info_, file);
  }
  [[nodiscard]] std::size_t rows() const { return png_get_image_height(png_, info_); }
  [[nodiscard]] std::size_t columns() const { return png_get_image_width(png_, info_); }
  [[nodiscard]] bool read(gray_picture& to) {
    to.resize(rows(), columns());
    return read_cells(png_, info_, to.row_pointers.data());
  }

  std::string error{};

 private:
  png_structp png_;
  png_infop info_;
};

/// The state of libpng while it writes a file.
class png_writer {
 public:
  png_writer()
      : png_(png_create_write_struct(PNG_LIBPNG_VER_STRING, &error, &keep_error, &ignore_warning)),
        info_(png_ != nullptr ? png_create_info_struct(png_) : nullptr) {
    if (info_ == nullptr) { error = "libpng cannot be used"; }
  }
  png_writer(png_writer const&) = delete;
  png_writer& operator=(png_writer const&) = delete;
  ~png_writer() { png_destroy_write_struct(&png_, &info_); }

  [[nodiscard]] bool write(std::FILE* file, gray_picture& from) {
    return info_ != nullptr && write_cells(png_, info_, file, from);
  }

  std::string error{};

 private:
  png_structp png_;
  png_infop info_;
};

}  // namespace

field read_png(std::string const& path) {
  file_pointer const file = open_file(path, "rb");
  constexpr std::size_t signature_bytes = 8;
  png_byte signature[signature_bytes] = {};
  if (std::fread(signature, 1, signature_bytes, file.get()) != signature_bytes ||
      png_sig_cmp(signature, 0, signature_bytes) != 0) {
    refuse(path, "is not a PNG file");
  }
  std::rewind(file.get());
  png_reader reader;
  if (!reader.open(file.get())) { refuse(path, reader.error); }
  check_size(path, reader.rows(), reader.columns());
  gray_picture picture;
  if (!reader.read(picture)) { refuse(path, reader.error); }
  field made{.rows = picture.rows, .columns = picture.columns};
  made.values.resize(made.rows * made.columns);
  for (std::size_t i = 0; i < made.values.size(); ++i) {
    int const value = picture.bytes[2 * i] << 8 | picture.bytes[2 * i + 1];
    made.values[i] = static_cast<float>(value) / white;
  }
  return made;
}

void write_png(std::string const& path, field const& from) {
  gray_picture picture;
  picture.resize(from.rows, from.columns);
  float const range = from.high > from.low ? from.high - from.low : 1;
  for (std::size_t i = 0; i < from.values.size(); ++i) {
    // Rounding may put a value a little outside the range.
    float const part = std::clamp((from.values[i] - from.low) / range, 0.0f, 1.0f);
    auto const value = static_cast<unsigned>(part * white + 0.5f);
    picture.bytes[2 * i] = static_cast<png_byte>(value >> 8);
    picture.bytes[2 * i + 1] = static_cast<png_byte>(value & 0xff);
  }
  file_pointer file = open_file(path, "wb");
  png_writer writer;
  if (!writer.write(file.get(), picture)) { refuse(path, writer.error); }
  if (std::fclose(file.release()) != 0) {
    refuse(path, std::string{"cannot be written: "} + std::strerror(errno));
  }
}

}  // namespace heat
