#include "net/cli/transfer/cell_csv.h"

#include <array>
#include <utility>

#include "net/cli/text/times.h"
#include "net/cli/transfer/csv.h"

namespace cellar::cli {

namespace {

constexpr std::array<std::string_view, kCellCsvFields> kNames = {
    "row", "family", "qualifier", "timestamp", "value", "expire_at"};
constexpr size_t kFieldsWithoutExpiry = kCellCsvFields - 1;
constexpr size_t kMaxCellsTogether = 1000;
constexpr size_t kMaxBytesTogether = 256 * 1024;

std::string header_field(std::string_view name, BytesForm form) {
  return form == BytesForm::utf8 ? std::string(name) : fmt::format("{}/{}", name, form_name(form));
}

class CellCsvSource final : public LineSource {
 public:
  CellCsvSource(LineReader lines, const SourceOptions& options, const JsonForms& forms)
      : LineSource(std::move(lines), options), forms_(forms), next_(lines_.position()) {}

  Result<std::optional<client::Mutation>> next() override {
    if (wrong_) {
      next_ = lines_.position();
      began_ = lines_.line();
      return std::unexpected(*std::exchange(wrong_, std::nullopt));
    }
    std::optional<client::Mutation> mutation;
    if (!ahead_) {
      const auto read = read_ahead();
      began_ = lines_.line();
      TRY_VOID(read);
    }
    began_ = ahead_line_;
    cell_lines_.clear();
    while (ahead_) {
      if (!mutation) {
        mutation.emplace(ahead_->row);
      } else if (mutation->row() != ahead_->row ||
                 mutation->operations().size() >= kMaxCellsTogether ||
                 mutation->memory_bytes() >= kMaxBytesTogether) {
        break;
      }
      add(*mutation);
      cell_lines_.push_back(ahead_line_);
      ahead_.reset();
      next_ = lines_.position();
      auto read = read_ahead();
      if (!read) {
        wrong_ = read.error();  // returned after the preceding cells
        break;
      }
    }
    return mutation;
  }
  uint64_t line() const override { return began_; }
  std::span<const uint64_t> lines() const override { return cell_lines_; }
  Position position() const override { return next_; }
  Result<void> seek(Position to) override {
    next_ = to;
    return LineSource::seek(to);
  }

 private:
  struct Cell {
    std::string row, family, qualifier, value;
    std::optional<int64_t> timestamp_us;
    std::optional<int64_t> expire_at_us;
  };

  void add(client::Mutation& mutation) const {
    if (ahead_->timestamp_us) {
      mutation.set(ahead_->family, ahead_->qualifier, ahead_->value, *ahead_->timestamp_us);
    } else {
      mutation.set(ahead_->family, ahead_->qualifier, ahead_->value);
    }
    if (ahead_->expire_at_us) mutation.with_expire_at(*ahead_->expire_at_us);
  }

  Result<void> read_ahead() {
    TRY(const std::optional<std::string_view> line, next_line());
    if (!line) return {};
    ahead_line_ = lines_.line();
    TRY(const std::vector<std::string> fields, split_csv(*line));
    if (fields.size() != kCellCsvFields && fields.size() != kFieldsWithoutExpiry) {
      return fail(Errc::invalid_argument, "{} fields, not {} or {}", fields.size(),
                  kFieldsWithoutExpiry, kCellCsvFields);
    }
    Cell cell;
    TRY(cell.row, from_form(fields[0], forms_.key));
    TRY(cell.family, from_form(fields[1], BytesForm::utf8));
    TRY(cell.qualifier, from_form(fields[2], forms_.other));
    TRY(cell.value, from_form(fields[4], forms_.value));
    cell.timestamp_us = options_.at_us;
    if (!fields[3].empty()) {
      TRY(cell.timestamp_us, parse_time(fields[3], options_.now_us));
    }
    if (fields.size() == kCellCsvFields && !fields[5].empty()) {
      TRY(cell.expire_at_us, parse_time(fields[5], options_.now_us));
    }
    ahead_ = std::move(cell);
    return {};
  }

  const JsonForms forms_;
  std::optional<Cell> ahead_;  // read, not yet returned
  uint64_t ahead_line_ = 0;
  std::optional<Error> wrong_;  // of the line after those returned
  Position next_;
  uint64_t began_ = 0;
  std::vector<uint64_t> cell_lines_;  // of the last mutation
};

}  // namespace

std::string cell_csv_header(const JsonForms& forms) {
  return header_field("row", forms.key) + ",family," + header_field("qualifier", forms.other) +
         ",timestamp," + header_field("value", forms.value) + ",expire_at";
}

std::optional<JsonForms> cell_csv_forms(std::span<const std::string> header) {
  if (header.size() != kCellCsvFields && header.size() != kFieldsWithoutExpiry) return std::nullopt;
  std::array<BytesForm, kCellCsvFields> forms{};
  for (size_t i = 0; i < header.size(); ++i) {
    const size_t slash = header[i].find('/');
    if (header[i].substr(0, slash) != kNames[i]) return std::nullopt;
    if (slash == std::string::npos) continue;
    const auto form = parse_bytes_form("the header's form", header[i].substr(slash + 1));
    if (!form) return std::nullopt;
    forms[i] = *form;
  }
  return JsonForms{.key = forms[0], .other = forms[2], .value = forms[4]};
}

std::unique_ptr<RecordSource> cell_csv_source(LineReader lines, const SourceOptions& options,
                                              const JsonForms& forms) {
  return std::make_unique<CellCsvSource>(std::move(lines), options, forms);
}

}  // namespace cellar::cli
