#include "net/cli/text/columns.h"

#include "net/cli/text/byte_forms.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    if (comma != 0) parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return parts;
}

Result<Column> parse_column(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return fail(Errc::invalid_argument, "'{}' is not a column; write it as family:qualifier", text);
  }
  return Column{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

Result<CellText> parse_cell(std::string_view text, int64_t now_us, bool whole_value) {
  const size_t colon = text.find(':');
  const size_t equals = colon == std::string_view::npos ? colon : text.find('=', colon);
  if (equals == std::string_view::npos) {
    return fail(Errc::invalid_argument,
                "'{}' is not a cell; write it as family:qualifier=value or "
                "family:qualifier=value@time",
                text);
  }
  CellText cell;
  TRY(cell.column, parse_column(text.substr(0, equals)));
  std::string_view value = text.substr(equals + 1);
  const size_t at = value.rfind('@');
  if (!whole_value && at != std::string_view::npos) {
    const std::string_view when = value.substr(at + 1);
    const bool is_word = when == "today" || when == "yesterday" || when == "tomorrow";
    const auto time = parse_time(when, now_us);
    if (is_word || (!time && resembles_time(when))) {
      return fail(Errc::invalid_argument,
                  "'{}' {}; write the time as 2026-11-21T08:00:00Z or give at=TIME, which takes "
                  "values whole",
                  when, is_word ? "may be a time or part of the value" : "is not a time");
    }
    if (time) {
      cell.timestamp_us = *time;
      value = value.substr(0, at);
    }
  }
  cell.value = std::string(value);
  return cell;
}

Result<ColumnChoice> ColumnChoice::parse(std::string_view text, bool escaped) {
  ColumnChoice choice;
  for (const std::string& part : split_list(text)) {
    const size_t colon = part.find(':');
    if (colon == 0) {
      return fail(Errc::invalid_argument, "'{}' is neither family nor family:qualifier", part);
    }
    Entry entry{part.substr(0, colon), std::nullopt};
    if (colon != std::string::npos) {
      TRY(entry.qualifier, parse_bytes(part.substr(colon + 1), escaped));
    }
    choice.columns_.push_back(std::move(entry));
  }
  return choice;
}

bool ColumnChoice::has(Bytes family, Bytes qualifier) const {
  if (everything()) return true;
  for (const Entry& entry : columns_) {
    if (entry.family == family && (!entry.qualifier || *entry.qualifier == qualifier)) return true;
  }
  return false;
}

}  // namespace cellar::cli
