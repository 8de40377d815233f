// The arguments of a command: positional ones, and KEY=VALUE ones, which may also be written --KEY
// VALUE. A table of CommandSpec defines them; parsing, help and suggestions use it.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"

namespace cellar::cli {

struct KeySpec {
  std::string name;
  std::string value;  // placeholder of the value in the help; empty: a flag
  std::string help;
  bool is_flag() const { return value.empty(); }
};

// Why a command ended early: its words are wrong, or the node or a file failed.
struct CommandError {
  CommandError(Error e, bool of_words = false) : error(std::move(e)), of_usage(of_words) {}
  Error error;
  bool of_usage;
};

using CommandResult = std::expected<int, CommandError>;  // an exit code

// The same result, whose error is one of usage.
template <class T>
std::expected<T, CommandError> usage(Result<T> result) {
  if (!result) return std::unexpected(CommandError(std::move(result).error(), true));
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *std::move(result);
  }
}

template <class... Args>
std::unexpected<CommandError> usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(CommandError(
      Error(Errc::invalid_argument, fmt::format(format, std::forward<Args>(args)...)), true));
}

struct Session;
class Arguments;

struct CommandSpec {
  std::string name;
  std::string group;
  std::string positional;  // as in the usage line
  size_t least = 0;        // minimum number of positional arguments, which are used unchanged
  size_t most = 0;
  bool all_positional = false;  // all following words are positional too (`set` has cells with '=')
  std::string summary;          // one line
  std::string details;          // paragraphs, may be empty
  std::vector<KeySpec> keys;
  std::vector<std::string> examples;
  CommandResult (*run)(Session& session, const Arguments& arguments) = nullptr;
};

class Arguments {
 public:
  // `words` follow the command's name, without the options, which are in `options`.
  // INVALID_ARGUMENT explains the fault and gives a hint.
  static Result<Arguments> parse(const CommandSpec& spec, const std::vector<std::string>& words,
                                 const std::map<std::string, std::string>& options);

  size_t count() const { return positional_.size(); }
  const std::string& operator[](size_t i) const { return positional_[i]; }
  const std::vector<std::string>& positional() const { return positional_; }
  const std::string* find(std::string_view key) const;
  std::string get(std::string_view key, std::string_view otherwise = {}) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  Result<bool> flag(std::string_view key) const;  // absent: false
  Result<uint64_t> number(std::string_view key, uint64_t otherwise) const;

 private:
  std::vector<std::string> positional_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace cellar::cli
