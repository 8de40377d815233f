// Columns and cells on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::cli {

struct Column {
  std::string family;
  std::string qualifier;
};
// "family:qualifier", split at the first colon; the qualifier may be empty or contain colons.
Result<Column> parse_column(std::string_view text);

struct CellText {
  Column column;
  std::string value;
  std::optional<int64_t> timestamp_us;
};
// "family:qualifier=value[@TIME]". The qualifier ends at the first '=' after the colon. The part
// after the last '@' is the time if it parses as one and is not a bare word other than "now"
// ("lunch@today" is a value); otherwise, and always with `whole_value`, it is part of the value.
Result<CellText> parse_cell(std::string_view text, int64_t now_us, bool whole_value);

// "f1,f2:q": the families and columns whose cells a read shows. Empty: all.
class ColumnChoice {
 public:
  // `escaped`: as in parse_bytes(), of the qualifiers.
  static Result<ColumnChoice> parse(std::string_view text, bool escaped);
  bool everything() const { return columns_.empty(); }
  bool has(Bytes family, Bytes qualifier) const;

  struct Entry {
    std::string family;
    std::optional<std::string> qualifier;  // absent: the whole family
    auto operator<=>(const Entry&) const = default;
  };
  const std::vector<Entry>& entries() const { return columns_; }

 private:
  std::vector<Entry> columns_;
};

// Splits at commas; no empty parts.
std::vector<std::string> split_list(std::string_view text);

}  // namespace cellar::cli
