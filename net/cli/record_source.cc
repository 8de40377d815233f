#include "net/cli/record_source.h"

#include "net/cli/csv.h"
#include "net/cli/json_rows.h"
#include "net/cli/log_formats.h"

namespace cellar::cli {

namespace {

class JsonSource final : public RecordSource {
 public:
  JsonSource(LineReader lines, const SourceOptions& options)
      : lines_(std::move(lines)), options_(options) {}

  Result<std::optional<client::Mutation>> next() override {
    while (true) {
      TRY(const std::optional<std::string_view> line, lines_.next());
      if (!line) return std::optional<client::Mutation>();
      if (line->find_first_not_of(" \t") == line->npos) continue;
      TRY(client::Mutation mutation, parse_json_row(*line, options_.at_us));
      return std::optional<client::Mutation>(std::move(mutation));
    }
  }
  uint64_t line() const override { return lines_.line(); }
  uint64_t bytes() const override { return lines_.bytes(); }

 private:
  LineReader lines_;
  SourceOptions options_;
};

}  // namespace

Result<std::optional<std::string_view>> LineReader::next() {
  buffer_.clear();
  bool any = false;
  bool too_long = false;
  while (true) {
    const int c = std::getc(file_);
    if (c == EOF) break;
    any = true;
    ++bytes_;
    if (c == '\n') break;
    if (buffer_.size() >= kMaxLineBytes) {
      too_long = true;
      continue;
    }
    buffer_.push_back(static_cast<char>(c));
  }
  if (!any) return std::optional<std::string_view>();
  ++line_;
  if (too_long) {
    return fail(Errc::resource_exhausted, "the line is longer than {} bytes", kMaxLineBytes);
  }
  if (buffer_.ends_with('\r')) buffer_.pop_back();
  return std::optional<std::string_view>(buffer_);
}

Result<Format> parse_format(std::string_view name) {
  if (name == "csv") return Format::csv;
  if (name == "jsonl" || name == "json") return Format::jsonl;
  if (name == "dpkg-log") return Format::dpkg_log;
  if (name == "package-list") return Format::package_list;
  return fail(Errc::invalid_argument, "format={} is none of csv, jsonl, dpkg-log, package-list",
              name);
}

Result<Format> guess_format(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  if (name.ends_with(".csv")) return Format::csv;
  if (name.ends_with(".jsonl") || name.ends_with(".json") || name.ends_with(".ndjson")) {
    return Format::jsonl;
  }
  if (name.starts_with("dpkg.log")) return Format::dpkg_log;
  return fail(Errc::invalid_argument,
              "the name '{}' does not say what is in it; add format=csv, jsonl, dpkg-log or "
              "package-list",
              file);
}

std::unique_ptr<RecordSource> open_source(Format format, std::FILE* file,
                                          const SourceOptions& options) {
  LineReader lines(file);
  switch (format) {
    case Format::csv:
      return csv_source(std::move(lines), options);
    case Format::jsonl:
      return std::make_unique<JsonSource>(std::move(lines), options);
    case Format::dpkg_log:
      return dpkg_log_source(std::move(lines), options);
    case Format::package_list:
      break;
  }
  return package_list_source(std::move(lines), options);
}

}  // namespace cellar::cli
