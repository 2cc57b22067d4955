// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/included_files.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include "compiler/file_io.hpp"

namespace flotilla::compiler {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\f' || c == '\v'; }

std::string_view without_space(std::string_view text) {
  while (!text.empty() && is_space(text.front())) { text.remove_prefix(1); }
  return text;
}

/// Returns the length of the literal that begins at `text` with a quotation mark. It ends with its
/// line.
std::size_t skipped_literal(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\n') { return i; }
    if (text[i] == '"') { return i + 1; }
    if (text[i] == '\\') { ++i; }
  }
  return text.size();
}

/// Joins continued lines, and replaces comments by spaces.
/// @param is_certain  Becomes false if a raw literal, or a comment without an end, may hide text.
std::string joined_lines(std::string_view text, bool& is_certain) {
  std::string made;
  made.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    std::string_view const rest = text.substr(i);
    if (rest.starts_with("\\\n")) {
      i += 2;
    } else if (rest.starts_with("\\\r\n")) {
      i += 3;
    } else if (rest.starts_with("//")) {
      i += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      std::size_t const end = rest.find("*/", 2);
      is_certain = is_certain && end != std::string_view::npos;
      made += ' ';
      i += end == std::string_view::npos ? rest.size() : end + 2;
    } else if (rest.starts_with('"')) {
      is_certain = is_certain && !made.ends_with('R');
      std::size_t const length = skipped_literal(rest);
      made += rest.substr(0, length);
      i += length;
    } else {
      made += text[i++];
    }
  }
  return made;
}

class search {
 public:
  explicit search(std::vector<std::filesystem::path> const& folders) : folders_(folders) {}

  /// @param own_folder  Where "file" is searched first; empty for the source itself.
  void scan(std::string_view text, std::filesystem::path const& own_folder) {
    std::string const joined = joined_lines(text, found_.is_complete);
    std::string_view rest = joined;
    while (!rest.empty()) {
      std::size_t const end = rest.find('\n');
      scan_line(rest.substr(0, end), own_folder);
      if (end == std::string_view::npos) { break; }
      rest.remove_prefix(end + 1);
    }
  }
  included_files take() && { return std::move(found_); }

 private:
  void scan_line(std::string_view line, std::filesystem::path const& own_folder) {
    line = without_space(line);
    if (!line.starts_with('#')) { return; }
    line = without_space(line.substr(1));
    if (line.starts_with("include_next")) {
      found_.is_complete = false;
    } else if (line.starts_with("include")) {
      add(without_space(line.substr(7)), own_folder);
    } else if (line.starts_with("import") || line.starts_with("embed")) {
      found_.is_complete = false;
    }
    constexpr std::string_view question = "__has_include";
    for (std::size_t at = line.find(question); at != std::string_view::npos;
         at = line.find(question, at + 1)) {
      std::string_view name = without_space(line.substr(at + question.size()));
      if (name.starts_with('(')) { add(without_space(name.substr(1)), own_folder); }
    }
  }

  void add(std::string_view name, std::filesystem::path const& own_folder) {
    bool const quoted = name.starts_with('"');
    if (!quoted && !name.starts_with('<')) {
      found_.is_complete = false;
      return;
    }
    name = name.substr(1, name.find(quoted ? '"' : '>', 1) - 1);
    if (quoted && !own_folder.empty() && add_file(name, own_folder)) { return; }
    for (std::filesystem::path const& folder : folders_) {
      if (add_file(name, folder)) { return; }
    }
    // The compiler takes it from its own folders. If the file appears in an include directory
    // later, the list changes.
    if (missing_.insert(std::string{name}).second) {
      found_.files.push_back({std::string{name}, "", ""});
    }
  }

  /// @return false if the folder has no such file
  bool add_file(std::string_view name, std::filesystem::path const& folder) {
    std::filesystem::path const path = folder / name;
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) { return false; }
    if (!seen_.insert(path.string()).second) { return true; }
    std::string text;
    if (!read_file(path.string(), text)) { found_.is_complete = false; }
    found_.files.push_back({std::string{name}, path.string(), text});
    scan(text, path.parent_path());
    return true;
  }

  std::vector<std::filesystem::path> const& folders_;
  std::set<std::string> seen_;
  std::set<std::string> missing_;
  included_files found_;
};

}  // namespace

included_files find_included_files(std::string_view source,
                                   std::vector<std::filesystem::path> const& folders) {
  search made{folders};
  made.scan(source, {});
  return std::move(made).take();
}

}  // namespace flotilla::compiler
