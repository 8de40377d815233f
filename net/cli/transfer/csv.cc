#include "net/cli/transfer/csv.h"

#include <utility>

#include "net/cli/text/columns.h"
#include "net/cli/text/times.h"
#include "net/cli/transfer/cell_csv.h"

namespace cellar::cli {

namespace {

constexpr size_t kMaxRecordBytes = 64u << 20;  // of several lines

// The state of a record that may continue on the next line.
struct Fields {
  std::vector<std::string> done;
  std::string field;
  bool quoted = false;  // inside quotes
  bool opened = false;  // a quote opened on the last line
  bool closed = false;  // a quoted field has ended
  size_t bytes = 0;

  Result<void> take(std::string_view line) {
    opened = false;
    bytes += line.size();
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quoted) {
        if (c != '"') {
          field += c;
        } else if (i + 1 < line.size() && line[i + 1] == '"') {
          field += '"';
          ++i;
        } else {
          quoted = false;
          closed = true;
        }
      } else if (c == ',') {
        end_field();
      } else if (c == '"' && field.empty() && !closed) {
        quoted = opened = true;
      } else if (c == '"' || closed) {
        return fail(Errc::invalid_argument, "field {}: a quote where none may stand",
                    done.size() + 1);
      } else {
        field += c;
      }
    }
    return {};
  }
  void end_field() {
    done.push_back(std::move(field));
    field.clear();
    closed = false;
  }
};

struct HeaderColumn {
  Column column;
  std::optional<int64_t> timestamp_us;
};

class CsvSource final : public LineSource {
 public:
  using LineSource::LineSource;

  Result<std::optional<client::Mutation>> next() override {
    TRY_VOID(know_header());
    if (cells_) return cells_->next();
    std::optional<std::vector<std::string>> fields;
    do {
      began_ = lines_.line() + 1;
      TRY(fields, read_csv(lines_));
      if (!fields) return std::optional<client::Mutation>();
    } while (fields->size() == 1 && fields->front().empty());  // an empty line
    if (fields->size() != columns_.size() + 1) {
      return fail(Errc::invalid_argument, "{} fields where the header has {}", fields->size(),
                  columns_.size() + 1);
    }
    client::Mutation mutation((*fields)[0]);
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& value = (*fields)[i + 1];
      if (value.empty()) continue;
      const HeaderColumn& column = columns_[i];
      const auto at = column.timestamp_us ? column.timestamp_us : options_.at_us;
      if (at) {
        mutation.set(column.column.family, column.column.qualifier, value, *at);
      } else {
        mutation.set(column.column.family, column.column.qualifier, value);
      }
    }
    if (mutation.operations().empty()) {
      return fail(Errc::invalid_argument, "every field but the row key is empty");
    }
    return std::optional<client::Mutation>(std::move(mutation));
  }
  uint64_t line() const override { return cells_ ? cells_->line() : began_; }
  std::span<const uint64_t> lines() const override {
    return cells_ ? cells_->lines() : std::span<const uint64_t>();
  }
  uint64_t bytes() const override { return cells_ ? cells_->bytes() : lines_.bytes(); }
  Position position() const override { return cells_ ? cells_->position() : lines_.position(); }
  Result<void> seek(Position to) override {
    TRY_VOID(know_header());
    if (to.offset <= bytes()) return {};
    return cells_ ? cells_->seek(to) : lines_.seek(to);
  }

 private:
  Result<void> know_header() {
    if (std::exchange(header_read_, true)) return {};
    const auto header = read_header();
    if (header) return {};
    if (header.error().code == Errc::data_loss) return header;
    return fail(Errc::failed_precondition, "the header: {}", header.error().message);
  }
  Result<void> read_header() {
    TRY(const auto fields, read_csv(lines_));
    if (!fields) return fail(Errc::invalid_argument, "the file is empty");
    if (const auto forms = cell_csv_forms(*fields)) {
      lines_.allow(LineReader::kMaxCellLineBytes);
      cells_ = cell_csv_source(std::move(lines_), options_, *forms);
      return {};
    }
    if (fields->size() < 2) {
      const bool semicolons = !fields->empty() && fields->front().find(';') != std::string::npos;
      return fail(Errc::invalid_argument, "no columns beside the row key{}",
                  semicolons ? ": fields are separated by commas, not by semicolons" : "");
    }
    for (size_t i = 1; i < fields->size(); ++i) {
      HeaderColumn column;
      std::string_view name = (*fields)[i];
      const size_t at = name.rfind('@');
      if (at != name.npos) {
        const auto time = parse_time(name.substr(at + 1), options_.now_us);
        if (time) {
          column.timestamp_us = *time;
          name = name.substr(0, at);
        }
      }
      if (name.find(':') == name.npos && !options_.family.empty()) {
        column.column = {options_.family, std::string(name)};
      } else {
        auto parsed = parse_column(name);
        if (!parsed) {
          return fail(Errc::invalid_argument, "{}, or give family=NAME", parsed.error().message);
        }
        column.column = *std::move(parsed);
      }
      columns_.push_back(std::move(column));
    }
    return {};
  }

  std::vector<HeaderColumn> columns_;
  std::unique_ptr<RecordSource> cells_;  // set if the file has one line per cell
  bool header_read_ = false;
  uint64_t began_ = 0;
};

// The next line of a record inside quotes, which keep the end of the line before.
Result<void> add_line(LineReader& lines, Fields& fields) {
  fields.field += lines.carriage_return() ? "\r\n" : "\n";
  TRY(const std::optional<std::string_view> more, lines.next());
  if (!more) return fail(Errc::invalid_argument, "a quote is not closed");
  if (fields.bytes + more->size() > kMaxRecordBytes) {
    return fail(Errc::invalid_argument, "a quote is not closed within {} bytes", kMaxRecordBytes);
  }
  return fields.take(*more);
}

// The lines after an open quote may be good ones, so they are read again.
std::unexpected<Error> give_up(LineReader& lines, Position opening, Error why) {
  const uint64_t last = lines.line();
  if (why.code == Errc::data_loss || last == opening.line || lines.seek(opening)) {
    return std::unexpected(std::move(why));
  }
  return fail(why.code, "{}; lines {} to {} are lost with it", why.message, opening.line + 1, last);
}

}  // namespace

Result<std::optional<std::vector<std::string>>> read_csv(LineReader& lines) {
  Fields fields;
  TRY(const std::optional<std::string_view> first, lines.next());
  if (!first) return std::optional<std::vector<std::string>>();
  std::string_view line = *first;
  if (lines.line() == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  TRY_VOID(fields.take(line));
  Position opening = lines.position();  // after the line of the last quote that opened
  while (fields.quoted) {
    if (auto more = add_line(lines, fields); !more) {
      return give_up(lines, opening, std::move(more).error());
    }
    if (fields.opened) opening = lines.position();
  }
  fields.end_field();
  return std::optional<std::vector<std::string>>(std::move(fields.done));
}

Result<std::vector<std::string>> split_csv(std::string_view line) {
  Fields fields;
  TRY_VOID(fields.take(line));
  if (fields.quoted) return fail(Errc::invalid_argument, "a quote is not closed");
  fields.end_field();
  return std::move(fields.done);
}

std::unique_ptr<RecordSource> csv_source(LineReader lines, const SourceOptions& options) {
  return std::make_unique<CsvSource>(std::move(lines), options);
}

}  // namespace cellar::cli
