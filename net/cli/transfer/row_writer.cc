#include "net/cli/transfer/row_writer.h"

#include <utility>

#include "engine/export/export_encoder.h"
#include "net/cli/text/text.h"
#include "net/cli/transfer/cell_csv.h"
#include "net/cli/transfer/export_scan.h"

namespace cellar::cli {

namespace {

// Quoted if RFC 4180 requires it.
void add_csv_field(std::string& out, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == field.npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

class TextWriter : public RowWriter {
 public:
  TextWriter(const JsonForms& forms, const ExportScan* before) : forms_(forms) {
    if (before) counts_ = before->counts;
  }
  std::string take() override {
    if (ended_.size() < kPieceBytes) return {};
    return std::exchange(ended_, std::string());
  }
  std::string finish() override { return std::exchange(ended_, std::string()); }
  engine::ExportCounts counts() const override { return counts_; }

 protected:
  void count(uint64_t cells, uint64_t value_bytes) {
    ++counts_.rows;
    counts_.cells += cells;
    counts_.value_bytes += value_bytes;
  }
  const JsonForms forms_;
  std::string ended_;  // complete rows
  std::string row_;    // the open row
  uint64_t cells_ = 0;
  uint64_t value_bytes_ = 0;

 private:
  engine::ExportCounts counts_;
};

class CsvWriter final : public TextWriter {
 public:
  using TextWriter::TextWriter;
  std::string begin() override { return cell_csv_header(forms_) + "\n"; }
  void begin_row(Bytes key) override {
    row_.clear();
    cells_ = value_bytes_ = 0;
    key_.clear();
    add_csv_field(key_, shown(key, forms_.key));
  }
  void add(const client::Cell& cell) override {
    row_ += key_;
    row_ += ',';
    add_csv_field(row_, escaped(cell.family));
    row_ += ',';
    add_csv_field(row_, shown(cell.qualifier, forms_.other));
    row_ += fmt::format(",{},", cell.timestamp_us);
    add_csv_field(row_, shown(cell.value, forms_.value));
    row_ += ',';
    if (cell.expire_at_us != kNoExpiry) row_ += std::to_string(cell.expire_at_us);
    row_ += '\n';
    ++cells_;
    value_bytes_ += cell.value.size();
  }
  void end_row() override {
    ended_ += row_;
    count(cells_, value_bytes_);
  }

 private:
  std::string key_;
};

class JsonWriter final : public TextWriter {
 public:
  using TextWriter::TextWriter;
  std::string begin() override { return {}; }
  void begin_row(Bytes key) override {
    row_.clear();
    cells_ = value_bytes_ = 0;
    begin_json_row(row_, key, forms_);
  }
  void add(const client::Cell& cell) override {
    add_json_cell(row_, cell, cells_ == 0, forms_);
    ++cells_;
    value_bytes_ += cell.value.size();
  }
  void end_row() override {
    ended_ += row_;
    ended_ += "]}\n";
    count(cells_, value_bytes_);
  }
};

class BinaryWriter final : public RowWriter {
 public:
  BinaryWriter(std::string description, const ExportScan* before)
      : description_(std::move(description)) {
    if (before) out_.resume(before->chain, before->counts);
  }
  std::string begin() override { return out_.begin(description_); }
  void begin_row(Bytes key) override { out_.begin_row(key); }
  void add(const client::Cell& cell) override {
    std::optional<int64_t> expiry;
    if (cell.expire_at_us != kNoExpiry) expiry = cell.expire_at_us;
    out_.add({cell.family, cell.qualifier, cell.timestamp_us, expiry, cell.value});
  }
  void end_row() override {
    out_.end_row();
    if (out_.block_full()) ready_ += out_.take_block();
  }
  std::string take() override { return std::exchange(ready_, std::string()); }
  std::string finish() override { return take() + out_.finish(); }
  engine::ExportCounts counts() const override { return out_.counts(); }

 private:
  const std::string description_;
  engine::ExportEncoder out_;
  std::string ready_;  // completed blocks
};

}  // namespace

std::unique_ptr<RowWriter> make_row_writer(Format format, const JsonForms& forms,
                                           std::string description, const ExportScan* before) {
  if (format == Format::csv) return std::make_unique<CsvWriter>(forms, before);
  if (format == Format::jsonl) return std::make_unique<JsonWriter>(forms, before);
  return std::make_unique<BinaryWriter>(std::move(description), before);
}

}  // namespace cellar::cli
