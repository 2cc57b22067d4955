// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/numa_nodes.hpp"

#include <dirent.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <system_error>

namespace flotilla::base {

namespace {

/// Reads a number at the beginning of `text` and removes it from there.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{}) { return std::nullopt; }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<processor_mask> processors_in(std::string const& file) {
  std::ifstream in{file};
  if (!in) { return std::nullopt; }
  std::string line;
  std::getline(in, line);  // the list of a node without processors is an empty line
  return parse_processors(line);
}

/// Returns N if the name of the folder is "nodeN".
std::optional<int> node_number(std::string_view folder) {
  if (!folder.starts_with("node")) { return std::nullopt; }
  folder.remove_prefix(4);
  int number = 0;
  auto const [end, failed] = std::from_chars(folder.data(), folder.data() + folder.size(), number);
  if (failed != std::errc{} || end != folder.data() + folder.size() || number < 0) {
    return std::nullopt;
  }
  return number;
}

struct close_folder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

}  // namespace

std::optional<processor_mask> parse_processors(std::string_view text) {
  processor_mask made;
  while (!text.empty()) {
    auto const first = take_number(text);
    if (!first) { return std::nullopt; }
    auto last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_number(text);
      if (!last || *last < *first) { return std::nullopt; }
    }
    if (*last >= processor_mask::max_processors) { return std::nullopt; }
    for (std::size_t i = *first; i <= *last; ++i) { made.add(i); }
    if (text.empty()) { break; }
    if (!text.starts_with(',') || text.size() == 1) { return std::nullopt; }
    text.remove_prefix(1);
  }
  return made;
}

numa_nodes::numa_nodes(std::filesystem::path const& root, processor_mask const& allowed) {
  // std::filesystem::directory_iterator of libstdc++ 12 ends the process if there is no memory.
  std::unique_ptr<DIR, close_folder> const folder{::opendir(root.c_str())};
  if (folder == nullptr) { return; }
  while (::dirent const* const entry = ::readdir(folder.get())) {
    auto const number = node_number(entry->d_name);
    auto const processors =
        number ? processors_in(root.string() + '/' + entry->d_name + "/cpulist") : std::nullopt;
    if (!processors) { continue; }
    if (processor_mask const own = processors->both(allowed); !own.empty()) {
      usable_.emplace(*number, own);
    }
  }
}

// If the system does not tell the mask, no node is usable.
numa_nodes::numa_nodes(std::filesystem::path const& root)
    : numa_nodes(root, processor_mask::of_thread(::getpid()).value_or(processor_mask{})) {}

processor_mask const* numa_nodes::processors_of(int node) const noexcept {
  auto const found = usable_.find(node);
  return found == usable_.end() ? nullptr : &found->second;
}

std::string numa_nodes::refusal(int node) const {
  if (usable_.size() < 2) { return "the process may use processors of one NUMA node only"; }
  if (node < 0) { return "the NUMA node of the device is unknown"; }
  if (processors_of(node) == nullptr) {
    return "the process may not use any processor of NUMA node " + std::to_string(node);
  }
  return {};
}

}  // namespace flotilla::base
