// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// Reads a module: the directives and functions at the top level, and the statements of functions.
#include <string>
#include <utility>
#include <vector>

#include "make_twins/parameters.hpp"
#include "make_twins/ptx_module.hpp"
#include "make_twins/token_reader.hpp"

namespace flotilla::make_twins {
namespace {

std::vector<statement> parse_statements(std::span<token const> body) {
  std::vector<statement> result;
  token_reader in(body);
  while (!in.at_end()) {
    if (in.skip_if("{") || in.skip_if("}") || in.skip_if(";")) { continue; }
    if (in.sees(".loc")) {  // the line of the source; it has no semicolon
      in.skip_line();
      continue;
    }
    if (in.skip_if("@")) {
      in.skip_if("!");
      in.take("a predicate");
      continue;
    }
    token const& opcode = in.take("an instruction");
    if (opcode.kind != token_kind::word) {
      throw malformed_ptx(opcode.line,
                          "'" + std::string(opcode.text) + "' is where an instruction should be");
    }
    if (in.skip_if(":")) { continue; }  // it was a label
    std::size_t const begin = in.position();
    while (!in.sees(";")) {
      if (in.at_end() || in.sees("}")) {
        throw malformed_ptx(opcode.line, "';' is missing after '" + std::string(opcode.text) + "'");
      }
      if (in.sees("{") || in.sees("(") || in.sees("[")) {
        in.take_brackets();
      } else {
        in.take("';'");
      }
    }
    result.push_back({opcode, in.between(begin, in.position())});
  }
  return result;
}

class parser {
 public:
  explicit parser(std::string_view text) : in_({}) {
    module_.text = text;
    module_.tokens = scan(text);
    in_ = token_reader(module_.tokens);
  }

  ptx_module run() {
    if (!in_.sees(".version")) { in_.fail("the text is not PTX: it does not begin with .version"); }
    while (!in_.at_end()) { top_level(); }
    if (module_.target.empty()) { in_.fail("the module has no .target"); }
    for (auto const& [alias, aliased] : aliases_) {
      if (auto const found = module_.by_name.find(aliased); found != module_.by_name.end()) {
        module_.by_name[alias] = found->second;
      }
    }
    return std::move(module_);
  }

 private:
  void top_level() {
    if (in_.sees("{")) {  // of an initializer or a section
      in_.take_brackets();
      return;
    }
    token const& word = in_.take("a directive");
    if (word.is(".visible") || word.is(".weak") || word.is(".extern") || word.is(".common")) {
      linkage_ = word.text;
      return;
    }
    if (word.is(".entry") || word.is(".func")) {
      read_function(word.is(".entry"));
    } else if (word.is(".version")) {
      module_.version = in_.take("a version").text;
    } else if (word.is(".target")) {
      read_target();
    } else if (word.is(".alias")) {
      std::string_view const alias = in_.take("a name").text;
      in_.take_exactly(",");
      aliases_.emplace_back(alias, in_.take("a function").text);
      in_.take_exactly(";");
    } else if (word.is("}")) {
      throw malformed_ptx(word.line, "'}' closes nothing");
    } else if (word.kind == token_kind::word) {
      module_.names.insert(word.text);
    }
    linkage_ = {};
  }

  void read_target() {
    module_.target = in_.take("an architecture").text;
    while (in_.skip_if(",")) { module_.debug |= in_.take("an option of .target").is("debug"); }
  }

  void read_function(bool is_kernel) {
    function f{};
    f.is_kernel = is_kernel;
    f.linkage = linkage_;
    while (in_.skip_if(".attribute")) { in_.take_brackets(); }
    if (!is_kernel && in_.sees("(")) { in_.take_brackets(); }  // the result
    token const& name = in_.take("the name of a function");
    if (name.kind != token_kind::word || name.text.starts_with('.')) {
      throw malformed_ptx(name.line, "a function has no name");
    }
    f.name = name.text;
    if (in_.sees("(")) {
      auto const parameters = in_.take_brackets();
      if (is_kernel) { f.parameters = parse_parameters(parameters); }
    }
    read_directives(f);
    if (in_.sees("{")) {
      std::size_t const begin = in_.position();
      auto const body = in_.take_brackets();
      token const& open = module_.tokens[begin];
      token const& close = module_.tokens[in_.position() - 1];
      f.body = module_.text.substr(offset(open) + 1, offset(close) - offset(open) - 1);
      f.statements = parse_statements(body);
    } else {
      in_.take_exactly(";");
    }
    f.end = offset(module_.tokens[in_.position() - 1]) + 1;
    add(std::move(f));
  }

  void add(function f) {
    auto const [known, is_new] = module_.by_name.try_emplace(f.name, module_.functions.size());
    if (!is_new && f.body) { known->second = module_.functions.size(); }
    module_.functions.push_back(std::move(f));
  }

  void read_directives(function& f) {
    std::size_t const begin = in_.position();
    while (!in_.sees("{") && !in_.sees(";")) {
      if (in_.take("the body of a function").is(".pragma")) {
        while (!in_.skip_if(";")) { in_.take("';' after .pragma"); }
      }
    }
    f.directives = in_.between(begin, in_.position());
    if (!f.directives.empty()) {
      std::size_t const first = offset(f.directives.front());
      token const& last = f.directives.back();
      f.directives_text = module_.text.substr(first, offset(last) + last.text.size() - first);
    }
  }

  std::size_t offset(token const& t) const {
    return static_cast<std::size_t>(t.text.data() - module_.text.data());
  }

  ptx_module module_;
  token_reader in_;
  std::string_view linkage_;
  std::vector<std::pair<std::string_view, std::string_view>> aliases_;  // name, function
};

}  // namespace

ptx_module parse(std::string_view text) { return parser(text).run(); }

}  // namespace flotilla::make_twins
