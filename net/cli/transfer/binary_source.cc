#include "net/cli/transfer/binary_source.h"

#include <optional>

#include "engine/export/export_check.h"
#include "engine/export/row_reader.h"
#include "net/cli/transfer/export_scan.h"

namespace cellar::cli {

namespace {

using engine::ExportCheck;
using engine::FrameKind;

class BinarySource final : public RecordSource {
 public:
  explicit BinarySource(std::FILE* file) : file_(file) {}

  Result<std::optional<client::Mutation>> next() override {
    while (!rows_ || !rows_->next_row()) {
      TRY(const bool more, next_block());
      if (!more) return std::optional<client::Mutation>();
    }
    ++row_;
    client::Mutation mutation(rows_->key());
    engine::ExportCell cell;
    while (rows_->next_cell(cell)) {
      mutation.set(cell.family, cell.qualifier, cell.value, cell.timestamp_us);
      if (cell.expire_at_us) mutation.with_expire_at(*cell.expire_at_us);
    }
    return std::optional<client::Mutation>(std::move(mutation));
  }
  uint64_t line() const override { return row_; }
  uint64_t bytes() const override { return check_.bytes(); }
  Position position() const override { return block_; }

  // Reads all blocks up to the position, because each checksum continues from the previous one.
  Result<void> seek(Position to) override {
    if (check_.bytes() == 0) TRY_VOID(begin());
    while (check_.bytes() < to.offset) {
      TRY(const bool more, next_block());
      if (!more) return fail(Errc::failed_precondition, "the file is shorter than it was");
      rows_.reset();
    }
    row_ = to.line;
    block_ = to;
    return {};
  }

  Result<std::string> description() override {
    if (check_.bytes() == 0) TRY_VOID(begin());
    return check_.description();
  }

 private:
  Result<void> begin() {
    const auto head = check_.file_head(read_piece(file_, engine::kExportHeadBytes));
    // An INVALID_ARGUMENT would reject one record, and the next sixteen bytes would be tried.
    if (!head && head.error().code == Errc::invalid_argument) {
      return fail(Errc::failed_precondition, "{}", head.error().message);
    }
    TRY_VOID(head);
    TRY(const FrameKind kind, next_frame());
    (void)kind;  // the first frame is a description
    return {};
  }

  Result<FrameKind> next_frame() {
    const std::string head = read_piece(file_, engine::kFrameHeadBytes);
    if (head.size() < engine::kFrameHeadBytes) return cut_off();
    TRY(const engine::FrameHead decoded, engine::decode_frame_head(head));
    payload_ = read_piece(file_, decoded.payload_bytes);
    if (payload_.size() < decoded.payload_bytes) return cut_off();
    return check_.frame(head, payload_);
  }

  // Advances to the next block of rows; false at the end of the file.
  Result<bool> next_block() {
    if (check_.bytes() == 0) TRY_VOID(begin());
    if (check_.ended()) return false;
    block_ = {check_.bytes(), row_};
    rows_.reset();
    TRY(const FrameKind kind, next_frame());
    if (kind == FrameKind::end) return at_end();
    rows_.emplace(payload_);
    return true;
  }

  // False, as there are no more blocks.
  Result<bool> at_end() const {
    if (std::getc(file_) == EOF) return false;
    return fail(Errc::data_loss,
                "the file goes on behind its end mark at byte {}: what follows was not imported",
                check_.bytes());
  }

  std::unexpected<Error> cut_off() const {
    return fail(Errc::data_loss, "the file ends at byte {} without its end mark: it was cut off",
                check_.bytes());
  }

  std::FILE* file_;
  ExportCheck check_;
  std::string payload_;
  std::optional<engine::RowReader> rows_;
  Position block_;  // start of the open block
  uint64_t row_ = 0;
};

}  // namespace

std::unique_ptr<RecordSource> binary_source(std::FILE* file) {
  return std::make_unique<BinarySource>(file);
}

}  // namespace cellar::cli
