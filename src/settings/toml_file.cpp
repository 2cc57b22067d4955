// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Reads settings from a TOML file and from the environment, which overrides the file.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include <toml++/toml.h>

#include <flotilla/error/error.hpp>
#include <flotilla/settings/settings.hpp>

#include "settings/toml_characters.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

/// Walks the tables of a file. The dotted name of a value is the name of its setting.
class reader {
 public:
  explicit reader(std::string file) : file_{std::move(file)} {}

  settings read(std::string_view text) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark)) { text.remove_prefix(byte_order_mark.size()); }
    if (auto const wrong = find_control_character(text)) { refuse(wrong->line, wrong->what); }
    refuse_characters_outside_of_strings(text);
    try {
      toml::table const all = toml::parse(text, file_);
      for (auto const& [key, node] : all) {
        if (key == "devices") {
          per_device(node);
        } else {
          value(made_.all, std::string{key.str()}, node);
        }
      }
    } catch (toml::parse_error const& wrong) {
      refuse(wrong.source(), std::string{wrong.description()});
    }
    return std::move(made_);
  }

 private:
  [[noreturn]] void refuse(toml::source_region const& where, std::string const& why) const {
    refuse(where.begin.line, why);
  }
  [[noreturn]] void refuse(std::size_t line, std::string const& why) const {
    throw unknown_setting("settings file '" + file_ + "', line " + std::to_string(line) + ": " +
                          why);
  }

  /// Refuses a file that has other characters than ASCII outside of strings and comments, or is not
  /// valid TOML without them.
  void refuse_characters_outside_of_strings(std::string_view text) const {
    std::string const ascii = with_ascii_only(text);
    if (ascii == text) { return; }
    try {
      static_cast<void>(toml::parse(ascii, file_));
    } catch (toml::parse_error const& wrong) {
      toml::source_position const at = wrong.source().begin;
      bool const is_guilty = is_beyond_ascii(text, at.line, at.column);
      refuse(wrong.source(), is_guilty
                                 ? "a character that is not ASCII, outside of strings and comments"
                                 : std::string{wrong.description()});
    }
  }

  void per_device(toml::node const& node) {
    if (!node.is_table()) {
      refuse(node.source(), "'devices' must be a table of devices, such as [devices.0]");
    }
    for (auto const& [number, of] : *node.as_table()) {
      std::string const name{number.str()};
      if (!of.is_table()) {
        refuse(of.source(), "'devices." + name + "' must be a table of settings");
      }
      if (name.empty() || name.size() > 9 ||
          name.find_first_not_of("0123456789") != std::string::npos) {
        refuse(of.source(), "'devices." + name + "': '" + name +
                                "' is not a device number; write [devices.N], such as [devices.0]");
      }
      device_settings& into = made_.devices[static_cast<unsigned>(std::stoul(name))];
      for (auto const& [key, each] : *of.as_table()) { value(into, std::string{key.str()}, each); }
    }
  }

  void value(device_settings& into, std::string const& name, toml::node const& node) {
    if (toml::table const* const inner = node.as_table()) {
      // Only the table `limits` has settings. For a name in any other table, `set` throws, because
      // there is no such setting. But `set` is not called for an empty table, so refuse empty
      // tables here.
      if (inner->empty()) {
        refuse(node.source(), "'" + name + "' is an empty table; remove it, or add settings to it");
      }
      for (auto const& [key, each] : *inner) {
        value(into, name + "." + std::string{key.str()}, each);
      }
      return;
    }
    std::string text;
    if (auto const* const words = node.as_string()) {
      text = words->get();
    } else if (auto const* const number = node.as_integer()) {
      text = std::to_string(number->get());
    } else if (auto const* const truth = node.as_boolean()) {
      text = truth->get() ? "true" : "false";
    } else {
      refuse(node.source(), "'" + name + "' must be a string, an integer or a boolean");
    }
    try {
      into.set(name, text);
    } catch (unknown_setting const& wrong) { refuse(node.source(), wrong.what()); }
  }

  std::string file_;
  settings made_;
};

}  // namespace

settings settings::read(std::filesystem::path const& file) {
  std::error_code failed;
  // A directory must be refused here, because it can be opened and then looks like an empty file.
  bool const is_directory = std::filesystem::is_directory(file, failed);
  std::ifstream in{file, std::ios::binary};
  std::ostringstream text;
  if (is_directory || !in ||
      (in.peek() != std::ifstream::traits_type::eof() && !(text << in.rdbuf()))) {
    throw unknown_setting("settings file '" + file.string() + "' cannot be read" +
                          (is_directory ? ": it is a directory"
                           : failed     ? ": " + failed.message()
                                        : ""));
  }
  return reader{file.string()}.read(text.str());
}

settings settings::from_environment() {
  settings made;
  if (char const* const file = std::getenv("FLOTILLA_CONFIG"); file != nullptr && *file != '\0') {
    made = read(file);
  }
  if (char const* const text = std::getenv("FLOTILLA_SETTINGS"); text != nullptr) {
    try {
      made = parse(text).over(made);
    } catch (unknown_setting const& wrong) {
      throw unknown_setting("environment variable FLOTILLA_SETTINGS: " + std::string{wrong.what()});
    }
  }
  for (auto const& [variable, name] :
       {std::pair{"FLOTILLA_ISOLATION", "isolation"}, std::pair{"FLOTILLA_SPARE", "spare"},
        std::pair{"FLOTILLA_STUCK_AFTER", "stuck_after"}}) {
    char const* const text = std::getenv(variable);
    if (text == nullptr || *text == '\0') { continue; }
    try {
      settings asked;
      asked.set(name, text);
      made = asked.over(made);
    } catch (unknown_setting const& wrong) {
      throw unknown_setting("environment variable " + std::string{variable} + ": " + wrong.what());
    }
  }
  return made;
}

}  // namespace v0_1
}  // namespace flotilla
