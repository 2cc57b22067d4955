// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "matrix_source.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "random_entry.hpp"

namespace cholesky {

namespace {

class random_matrix final : public matrix_source {
 public:
  explicit random_matrix(std::size_t size) : size_(size) {}
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] double entry(std::size_t i, std::size_t j) const noexcept override {
    return random_entry(i, j, size_);
  }

 private:
  std::size_t size_;
};

class dense_matrix final : public matrix_source {
 public:
  explicit dense_matrix(std::size_t size) : size_(size), entries_(size * size) {}
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] double entry(std::size_t i, std::size_t j) const noexcept override {
    return entries_[i * size_ + j];
  }
  void set(std::size_t i, std::size_t j, double value) noexcept {
    entries_[i * size_ + j] = entries_[j * size_ + i] = value;
  }

 private:
  std::size_t size_;
  std::vector<double> entries_;
};

class covariance final : public matrix_source {
 public:
  covariance(std::vector<std::vector<double>> points, double length)
      : points_(std::move(points)), length_(length) {}
  [[nodiscard]] std::size_t size() const noexcept override { return points_.size(); }
  [[nodiscard]] double entry(std::size_t i, std::size_t j) const noexcept override {
    double distance = 0;
    for (std::size_t k = 0; k < points_[i].size(); ++k) {
      double const difference = points_[i][k] - points_[j][k];
      distance += difference * difference;
    }
    constexpr double noise = 1e-2;
    return std::exp(-distance / (2 * length_ * length_)) + (i == j ? noise : 0);
  }

 private:
  std::vector<std::vector<double>> points_;
  double length_;
};

/// Reads the lines of a file and knows their numbers.
class line_reader {
 public:
  explicit line_reader(std::string const& path) : path_(path), file_(path) {
    if (!file_) { throw std::runtime_error(path + ": cannot be opened"); }
  }
  /// Skips empty lines, and lines that begin with `comment`. @return false at the end.
  bool next(std::string& line, char comment) {
    while (std::getline(file_, line)) {
      ++number_;
      if (!line.empty() && line.back() == '\r') { line.pop_back(); }
      if (!line.empty() && line.front() != comment) { return true; }
    }
    return false;
  }
  [[noreturn]] void refuse(std::string const& why) const {
    throw std::runtime_error(path_ + ", line " + std::to_string(number_) + ": " + why);
  }

 private:
  std::string path_;
  std::ifstream file_;
  std::size_t number_ = 0;
};

/// Reads all values of a line. @throws std::runtime_error  Something is not a number.
std::vector<double> numbers_in(std::string line, line_reader const& from) {
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream text(line);
  std::vector<double> values;
  for (std::string word; text >> word;) {
    std::size_t used = 0;
    try {
      values.push_back(std::stod(word, &used));
    } catch (std::exception const&) { used = 0; }
    if (used != word.size()) { from.refuse("'" + word + "' is not a number"); }
  }
  return values;
}

std::size_t index_of(double value, std::size_t size, line_reader const& from) {
  if (value < 1 || value > static_cast<double>(size) || value != std::floor(value)) {
    from.refuse("an index must be a whole number from 1 to " + std::to_string(size));
  }
  return static_cast<std::size_t>(value) - 1;
}

void read_coordinates(line_reader& lines, dense_matrix& to, double count) {
  std::string line;
  double seen = 0;
  for (; lines.next(line, '%'); ++seen) {
    std::vector<double> const values = numbers_in(line, lines);
    if (values.size() != 3) { lines.refuse("a row, a column and a value are expected"); }
    to.set(index_of(values[0], to.size(), lines), index_of(values[1], to.size(), lines), values[2]);
  }
  if (seen != count) { lines.refuse("the file ends too early, or has too many entries"); }
}

void read_array(line_reader& lines, dense_matrix& to) {
  std::string line;
  for (std::size_t j = 0; j < to.size(); ++j) {
    for (std::size_t i = j; i < to.size(); ++i) {
      if (!lines.next(line, '%')) { lines.refuse("the file ends too early"); }
      std::vector<double> const values = numbers_in(line, lines);
      if (values.size() != 1) { lines.refuse("one value is expected"); }
      to.set(i, j, values[0]);
    }
  }
}

}  // namespace

std::unique_ptr<matrix_source> make_random(std::size_t size) {
  return std::make_unique<random_matrix>(size);
}

std::unique_ptr<matrix_source> read_matrix_market(std::string const& path) {
  line_reader lines{path};
  std::string line;
  if (!lines.next(line, '\0')) { lines.refuse("the file is empty"); }
  std::transform(line.begin(), line.end(), line.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::istringstream header(line);
  std::string banner, object, format, field, symmetry;
  header >> banner >> object >> format >> field >> symmetry;
  if (banner != "%%matrixmarket" || object != "matrix") {
    lines.refuse("this is no Matrix Market file of a matrix");
  }
  bool const is_array = format == "array";
  if ((!is_array && format != "coordinate") || (field != "real" && field != "integer") ||
      symmetry != "symmetric") {
    lines.refuse("the matrix must be real or integer, and symmetric");
  }
  if (!lines.next(line, '%')) { lines.refuse("the size is missing"); }
  std::vector<double> const size = numbers_in(line, lines);
  if (size.size() != (is_array ? 2u : 3u) || size[0] != size[1] || size[0] < 1) {
    lines.refuse("the matrix must be square");
  }
  auto made = std::make_unique<dense_matrix>(static_cast<std::size_t>(size[0]));
  if (is_array) {
    read_array(lines, *made);
  } else {
    read_coordinates(lines, *made, size[2]);
  }
  return made;
}

std::unique_ptr<matrix_source> make_covariance(std::string const& path, double length) {
  line_reader lines{path};
  std::vector<std::vector<double>> points;
  for (std::string line; lines.next(line, '#');) {
    points.push_back(numbers_in(line, lines));
    if (points.back().size() != points.front().size()) {
      lines.refuse("the point has " + std::to_string(points.back().size()) +
                   " coordinates, but the first one has " + std::to_string(points.front().size()));
    }
  }
  if (points.empty()) { lines.refuse("there are no points"); }
  return std::make_unique<covariance>(std::move(points), length);
}

}  // namespace cholesky
