#include "net/cli/transfer/export_scan.h"

#include "net/cli/transfer/cell_csv.h"
#include "net/cli/transfer/csv.h"

namespace cellar::cli {

namespace {

using engine::ExportCheck;

Result<ExportScan> scan_binary(std::FILE* file) {
  ExportScan scan;
  ExportCheck check;
  const std::string file_head = read_piece(file, engine::kExportHeadBytes);
  if (file_head.size() < engine::kExportHeadBytes) return scan;
  if (auto begun = check.file_head(file_head); !begun) {
    return fail(Errc::failed_precondition, "{}", begun.error().message);
  }
  while (true) {
    const std::string head = read_piece(file, engine::kFrameHeadBytes);
    if (head.size() < engine::kFrameHeadBytes) break;
    const auto decoded = engine::decode_frame_head(head);
    if (!decoded) break;
    const std::string payload = read_piece(file, decoded->payload_bytes);
    if (payload.size() < decoded->payload_bytes || !check.frame(head, payload)) break;
  }
  if (check.frames() == 0) return scan;  // not even the description is complete
  scan.bytes = check.bytes();
  scan.last_key = check.last_key();
  scan.complete = check.ended();
  scan.description = check.description();
  scan.chain = check.chain();
  scan.counts = check.counts();
  return scan;
}

// Iterates over complete lines.
class WholeLines {
 public:
  WholeLines(std::FILE* file, size_t max_line_bytes) : lines_(file, max_line_bytes) {}
  bool next(std::string_view& line, uint64_t& begin) {
    begin = lines_.bytes();
    auto read = lines_.next();
    if (!read || !*read || !lines_.ended()) return false;
    line = **read;
    return true;
  }
  uint64_t bytes() const { return lines_.bytes(); }

 private:
  LineReader lines_;
};

Result<ExportScan> scan_json(std::FILE* file) {
  ExportScan scan;
  WholeLines lines(file, LineReader::kMaxJsonLineBytes);
  std::string_view line;
  uint64_t begin = 0;
  while (lines.next(line, begin)) {
    const auto row = parse_json_row(line, {});
    if (!row) break;
    scan.last_key = std::string(row->row());
    scan.bytes = lines.bytes();
    ++scan.counts.rows;
    scan.counts.cells += row->operations().size();
    for (const auto& operation : row->operations()) {
      scan.counts.value_bytes += operation.value.size;
    }
  }
  return scan;
}

// The last row may be incomplete, so it is written again.
Result<ExportScan> scan_csv(std::FILE* file, const JsonForms& forms) {
  ExportScan scan;
  ExportScan open;  // includes the row being read
  std::string open_key;
  WholeLines lines(file, LineReader::kMaxCellLineBytes);
  std::string_view line;
  uint64_t begin = 0;
  if (!lines.next(line, begin)) return scan;
  if (line != cell_csv_header(forms)) {
    return fail(Errc::failed_precondition, "it begins with '{}', not with '{}'", line.substr(0, 80),
                cell_csv_header(forms));
  }
  scan.bytes = open.bytes = lines.bytes();
  while (lines.next(line, begin)) {
    const auto fields = split_csv(line);
    if (!fields || fields->size() != kCellCsvFields) break;
    if (open.counts.rows == 0 || (*fields)[0] != open_key) {
      scan = open;
      scan.bytes = begin;
      open_key = (*fields)[0];
      auto key = from_form(open_key, forms.key);
      if (!key) break;
      open.last_key = *std::move(key);
      ++open.counts.rows;
    }
    const auto value = from_form((*fields)[4], forms.value);
    if (!value) break;
    ++open.counts.cells;
    open.counts.value_bytes += value->size();
  }
  return scan;
}

}  // namespace

std::string read_piece(std::FILE* file, size_t size) {
  // Reads in pieces, so that a damaged length does not allocate more than the file has.
  constexpr size_t kStepBytes = 4u << 20;
  std::string out;
  while (out.size() < size) {
    const size_t at = out.size();
    const size_t step = std::min(kStepBytes, size - at);
    out.resize(at + step);
    const size_t n = std::fread(out.data() + at, 1, step, file);
    out.resize(at + n);
    if (n < step) break;
  }
  return out;
}

Result<ExportScan> scan_export(std::FILE* file, Format format, const JsonForms& forms) {
  if (format == Format::csv) return scan_csv(file, forms);
  if (format == Format::jsonl) return scan_json(file);
  return scan_binary(file);
}

}  // namespace cellar::cli
