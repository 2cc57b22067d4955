// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/compiled_code.hpp"

#include <charconv>
#include <stdexcept>

#include "compiler/digest.hpp"

namespace flotilla::compiler {

namespace {

// The file: this line, the digest of the rest and a newline, then texts. Each text is its length in
// decimal digits, a newline, and its bytes.
constexpr std::string_view first_line = "flotilla kernels 1\n";
constexpr std::size_t digest_digits = 32;

void put(std::string& to, std::string_view text) {
  to.append(std::to_string(text.size())).append(1, '\n').append(text);
}
void put_count(std::string& to, std::size_t count) { put(to, std::to_string(count)); }

struct damaged {};

class text_reader {
 public:
  explicit text_reader(std::string_view rest) : rest_(rest) {}

  std::string_view take() {
    std::size_t const digits = rest_.find('\n');
    if (digits == std::string_view::npos) { throw damaged{}; }
    std::size_t const length = number(rest_.substr(0, digits));
    rest_.remove_prefix(digits + 1);
    if (length > rest_.size()) { throw damaged{}; }
    std::string_view const text = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return text;
  }
  std::size_t take_count() { return number(take()); }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

 private:
  static std::size_t number(std::string_view digits) {
    std::size_t value = 0;
    char const* const end = digits.data() + digits.size();
    auto const [stop, failed] = std::from_chars(digits.data(), end, value);
    if (failed != std::errc{} || stop != end) { throw damaged{}; }
    return value;
  }
  std::string_view rest_;
};

}  // namespace

std::string pack(compiled_code const& code) {
  std::string body;
  put(body, code.bytes);
  put_count(body, code.aliases.size());
  for (kernel_alias const& each : code.aliases) {
    put(body, each.expression);
    put(body, each.symbol);
  }
  put_count(body, code.notes.size());
  for (std::string const& each : code.notes) { put(body, each); }
  return std::string{first_line} + digest_of(body) + "\n" + body;
}

std::optional<compiled_code> unpack(std::string_view file) {
  if (!file.starts_with(first_line)) { return {}; }
  file.remove_prefix(first_line.size());
  if (file.size() <= digest_digits || file[digest_digits] != '\n') { return {}; }
  std::string_view const body = file.substr(digest_digits + 1);
  if (digest_of(body) != file.substr(0, digest_digits)) { return {}; }
  try {
    text_reader in{body};
    compiled_code code;
    code.bytes = in.take();
    for (std::size_t left = in.take_count(); left > 0; --left) {
      std::string expression{in.take()};
      code.aliases.push_back({std::move(expression), std::string{in.take()}});
    }
    for (std::size_t left = in.take_count(); left > 0; --left) {
      code.notes.emplace_back(in.take());
    }
    if (!in.at_end()) { return {}; }
    return code;
  } catch (damaged const&) { return {}; }
}

}  // namespace flotilla::compiler
