#include "net/cli/transfer/record_source.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "net/cli/session/json_rows.h"
#include "net/cli/transfer/binary_source.h"
#include "net/cli/transfer/csv.h"
#include "net/cli/transfer/log_formats.h"

namespace cellar::cli {

namespace {

class JsonSource final : public LineSource {
 public:
  using LineSource::LineSource;

  Result<std::optional<client::Mutation>> next() override {
    TRY(const std::optional<std::string_view> line, next_line());
    if (!line) return std::optional<client::Mutation>();
    TRY(client::Mutation mutation, parse_json_row(*line, options_.at_us));
    return std::optional<client::Mutation>(std::move(mutation));
  }
};

constexpr std::pair<Format, std::string_view> kFormats[] = {{Format::csv, "csv"},
                                                            {Format::jsonl, "jsonl"},
                                                            {Format::dpkg_log, "dpkg-log"},
                                                            {Format::package_list, "package-list"},
                                                            {Format::cellar, "cellar"}};

}  // namespace

// Ends at the end of a line: fread() would wait until a pipe has filled the piece.
bool LineReader::fill() {
  piece_.clear();
  next_ = 0;
  while (piece_.size() < kPieceBytes) {
    const int c = ::getc_unlocked(file_);
    if (c == EOF) {
      why_ = errno;  // EOF has it only after an error
      break;
    }
    piece_.push_back(static_cast<char>(c));
    if (c == '\n') break;
  }
  return !piece_.empty();
}

Result<std::optional<std::string_view>> LineReader::next() {
  line_.clear();
  ended_ = carriage_return_ = false;
  bool any = false;
  bool too_long = false;
  std::string_view line;
  while (!ended_) {
    if (next_ == piece_.size() && !fill()) break;
    any = true;
    const std::string_view rest = std::string_view(piece_).substr(next_);
    const size_t end = rest.find('\n');
    ended_ = end != rest.npos;
    const std::string_view part = rest.substr(0, end);
    const size_t taken = part.size() + (ended_ ? 1 : 0);
    next_ += taken;
    at_.offset += taken;
    too_long |= line_.size() + part.size() > max_line_bytes_;
    if (line_.empty() && ended_ && !too_long) {
      line = part;
      break;
    }
    if (too_long) {
      std::string().swap(line_);  // clear() would keep its memory
    } else {
      line_ += part;
    }
    line = line_;
  }
  // A line that could only be read in part is lost too.
  if (!ended_ && std::ferror(file_) != 0) {
    return fail(Errc::data_loss, "the input cannot be read behind byte {}: {}", at_.offset,
                std::strerror(why_));
  }
  if (!any) return std::optional<std::string_view>();
  ++at_.line;
  if (too_long) {
    return fail(Errc::resource_exhausted, "the line is longer than {} bytes", max_line_bytes_);
  }
  carriage_return_ = line.ends_with('\r');
  if (carriage_return_) line.remove_suffix(1);
  return std::optional<std::string_view>(line);
}

Result<void> LineReader::seek(Position to) {
  // Standard input may have begun in the middle of a file, so positions count from there.
  const off_t here = ::ftello(file_);
  const auto ahead = static_cast<off_t>(at_.offset + piece_.size() - next_);
  const auto target = static_cast<off_t>(to.offset);
  if (here < ahead || ::fseeko(file_, here - ahead + target, SEEK_SET) != 0) {
    return fail(Errc::invalid_argument, "the input cannot be read from its middle");
  }
  piece_.clear();
  next_ = 0;
  at_ = to;
  return {};
}

Result<void> go_to_start(std::FILE* file) {
  std::clearerr(file);
  if (::fseeko(file, 0, SEEK_SET) == 0) return {};
  return fail(Errc::invalid_argument, "the input cannot be read from its start again");
}

Result<std::optional<std::string_view>> LineSource::next_line() {
  while (true) {
    TRY(const std::optional<std::string_view> line, lines_.next());
    if (!line || line->find_first_not_of(" \t") != line->npos) return line;
  }
}

Result<Format> parse_format(std::string_view name) {
  for (const auto& [format, known] : kFormats) {
    if (name == known) return format;
  }
  if (name == "json") return Format::jsonl;
  return fail(Errc::invalid_argument,
              "format={} is none of csv, jsonl, cellar, dpkg-log, package-list", name);
}

std::string_view format_name(Format format) {
  for (const auto& [known, name] : kFormats) {
    if (known == format) return name;
  }
  return {};
}

Result<Format> guess_format(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  if (name.ends_with(".csv")) return Format::csv;
  if (name.ends_with(".jsonl") || name.ends_with(".json") || name.ends_with(".ndjson")) {
    return Format::jsonl;
  }
  if (name.ends_with(".cellar")) return Format::cellar;
  if (name.starts_with("dpkg.log")) return Format::dpkg_log;
  return fail(Errc::invalid_argument,
              "the name '{}' does not say what is in it; add format=csv, jsonl, cellar, dpkg-log "
              "or package-list",
              file);
}

std::unique_ptr<RecordSource> open_source(Format format, std::FILE* file,
                                          const SourceOptions& options) {
  LineReader lines(
      file, format == Format::jsonl ? LineReader::kMaxJsonLineBytes : LineReader::kMaxLineBytes);
  switch (format) {
    case Format::csv:
      return csv_source(std::move(lines), options);
    case Format::jsonl:
      return std::make_unique<JsonSource>(std::move(lines), options);
    case Format::cellar:
      return binary_source(file);
    case Format::dpkg_log:
      return dpkg_log_source(std::move(lines), options);
    case Format::package_list:
      break;
  }
  return package_list_source(std::move(lines), options);
}

}  // namespace cellar::cli
