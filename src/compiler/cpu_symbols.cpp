// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu_symbols.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace flotilla::compiler {

namespace {

using statement = std::vector<cpu_token>;

bool has(statement const& in, std::string_view word) {
  return std::any_of(in.begin(), in.end(), [&](cpu_token const& each) { return each.is(word); });
}

bool has_extern_c(statement const& in) {
  for (std::size_t i = 0; i + 1 < in.size(); ++i) {
    if (in[i].is("extern") && in[i + 1].text.starts_with("\"C")) { return true; }
  }
  return false;
}

/// Removes the first `word(...)`. @return the tokens between the parentheses
statement take_call(statement& from, std::string_view word) {
  statement inside;
  for (std::size_t i = 0; i + 1 < from.size(); ++i) {
    if (!from[i].is(word) || !from[i + 1].is("(")) { continue; }
    std::size_t end = i + 2;
    for (int depth = 1; end < from.size(); ++end) {
      depth += from[end].is("(") ? 1 : from[end].is(")") ? -1 : 0;
      if (depth == 0) { break; }
      inside.push_back(from[end]);
    }
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(i),
               from.begin() + static_cast<std::ptrdiff_t>(std::min(end + 1, from.size())));
    break;
  }
  return inside;
}

void remove_calls(statement& from, std::string_view word) {
  while (!take_call(from, word).empty()) {}
}

std::string text_of(statement const& tokens) {
  std::string text;
  for (cpu_token const& each : tokens) { text.append(text.empty() ? "" : " ").append(each.text); }
  return text;
}

/// The braces around a statement.
struct scope {
  enum kind { other, extern_c, name_space } is;
  std::string name;  // of a namespace: "mine::" or empty
};

class symbol_finder {
 public:
  cpu_symbols run(std::span<cpu_token const> tokens) {
    statement current;
    for (cpu_token const& each : tokens) {
      if (each.is("{")) {
        scope const opened = open(current);
        scopes_.push_back(opened);
      } else if (each.is("}")) {
        if (!scopes_.empty()) { scopes_.pop_back(); }
      } else if (each.is(";")) {
        if (is_outside()) { read_declaration(current); }
      } else {
        current.push_back(each);
        continue;
      }
      current.clear();
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_outside() const {
    return std::none_of(scopes_.begin(), scopes_.end(),
                        [](scope const& each) { return each.is == scope::other; });
  }
  [[nodiscard]] bool in_extern_c() const {
    return std::any_of(scopes_.begin(), scopes_.end(),
                       [](scope const& each) { return each.is == scope::extern_c; });
  }
  [[nodiscard]] bool in_unnamed() const {
    return std::any_of(scopes_.begin(), scopes_.end(), [](scope const& each) {
      return each.is == scope::name_space && each.name.empty();
    });
  }
  [[nodiscard]] std::string qualification() const {
    std::string text = "::";
    for (scope const& each : scopes_) { text += each.name; }
    return text;
  }

  /// Reads the statement before an opening brace.
  scope open(statement const& before) {
    if (!is_outside()) { return {scope::other, ""}; }
    auto const word = std::find_if(before.begin(), before.end(),
                                   [](cpu_token const& each) { return each.is("namespace"); });
    if (word != before.end() && !has(before, "using")) {
      std::string name;
      for (auto each = word + 1; each != before.end(); ++each) { name += each->text; }
      return {scope::name_space, name.empty() ? name : name + "::"};
    }
    if (before.size() == 2 && has_extern_c(before)) { return {scope::extern_c, ""}; }
    if (has(before, "__global__")) {
      read_kernel(before);
    } else {
      read_declaration(before);
    }
    return {scope::other, ""};
  }

  void read_kernel(statement definition) {
    cpu_kernel made;
    made.where = *std::find_if(definition.begin(), definition.end(),
                               [](cpu_token const& each) { return each.is("__global__"); });
    made.is_extern_c = in_extern_c() || has_extern_c(definition);
    made.is_template = definition.front().is("template");
    made.is_in_unnamed_namespace = in_unnamed();
    made.launch_bounds = text_of(take_call(definition, "__launch_bounds__"));
    remove_calls(definition, "__attribute__");
    std::size_t i = 0;
    if (made.is_template) {  // the parameters of a template may have calls
      int depth = 0;
      for (i = 1; i < definition.size(); ++i) {
        depth += definition[i].is("<") ? 1 : definition[i].is(">") ? -1 : 0;
        if (depth == 0) { break; }
      }
    }
    for (; i + 1 < definition.size(); ++i) {
      if (definition[i].is_name() && definition[i + 1].is("(")) {
        made.name = definition[i].text;
        made.qualified = qualification() + made.name;
        found_.kernels.push_back(std::move(made));
        return;
      }
    }
  }

  void read_declaration(statement declaration) {
    if (statement const name = take_call(declaration, "FLOTILLA_NO_TWIN"); !name.empty()) {
      cpu_kernel unwanted;
      unwanted.name = name.front().text;
      unwanted.where = name.front();
      std::string const variable = "flotilla_no_twin_" + unwanted.name;
      found_.variables.push_back({variable, qualification() + variable});
      found_.without_twin.push_back(std::move(unwanted));
      return;
    }
    if (!has(declaration, "__device__") && !has(declaration, "__constant__")) { return; }
    // A GPU cannot find variables in a namespace by name, nor those that are static or const.
    if (qualification() != "::" || in_unnamed()) { return; }
    for (std::string_view const word : {"static", "constexpr", "using", "typedef", "extern"}) {
      bool const only_linkage = word == "extern" && has_extern_c(declaration);
      if (has(declaration, word) && !only_linkage) { return; }
    }
    if (has(declaration, "const") && !has(declaration, "*")) { return; }
    read_declarators(std::move(declaration));
  }

  /// Finds the names in `int a, b[3] = {…}`.
  void read_declarators(statement declaration) {
    for (std::string_view const word : {"__align__", "__attribute__", "alignas"}) {
      remove_calls(declaration, word);
    }
    std::string_view name;
    bool is_function = false;
    bool in_initializer = false;
    int angles = 0;
    int brackets = 0;
    int parentheses = 0;  // in an initializer
    std::vector<std::string_view> names;
    for (cpu_token const& each : declaration) {
      brackets += each.is("[") ? 1 : each.is("]") ? -1 : 0;
      if (in_initializer) { parentheses += each.is("(") ? 1 : each.is(")") ? -1 : 0; }
      if (in_initializer && (parentheses > 0 || !each.is(","))) { continue; }
      if (each.is("=") && brackets == 0) {
        in_initializer = true;
      } else if (each.is("(")) {
        is_function = true;
      } else if (each.is("<") || each.is(">")) {
        angles += each.is("<") ? 1 : -1;
      } else if (each.is(",") && angles == 0) {
        names.push_back(name);
        in_initializer = false;
      } else if (each.is_name() && angles == 0 && brackets == 0) {
        name = each.text;
      }
    }
    names.push_back(name);
    bool const defines_type = has(declaration, "struct") || has(declaration, "class") ||
                              has(declaration, "union") || has(declaration, "enum");
    if (is_function || (defines_type && declaration.size() < 4)) { return; }
    for (std::string_view const each : names) {
      if (each.empty()) { continue; }
      found_.variables.push_back({std::string{each}, "::" + std::string{each}});
    }
  }

  std::vector<scope> scopes_;
  cpu_symbols found_;
};

}  // namespace

cpu_symbols find_cpu_symbols(std::span<cpu_token const> tokens) {
  return symbol_finder{}.run(tokens);
}

}  // namespace flotilla::compiler
