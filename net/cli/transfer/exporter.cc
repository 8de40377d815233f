#include "net/cli/transfer/exporter.h"

#include <algorithm>
#include <utility>

#include "net/cli/text/pause.h"

namespace cellar::cli {

ScanShare::ScanShare(std::vector<client::SplitPoint> samples, std::string begin, std::string end) {
  // The samples are sorted by key; the last one, without a key, is the end of the table.
  uint64_t last = 0;
  for (client::SplitPoint& sample : samples) {
    const bool before = !sample.key.empty() && sample.key <= begin;
    if (before) first_ = sample.bytes_before;
    const bool behind = !end.empty() && (sample.key.empty() || sample.key >= end);
    last = std::max(last, sample.bytes_before);
    if (before) continue;
    samples_.push_back(std::move(sample));
    if (behind) break;
  }
  passed_ = first_;
}

void ScanShare::seen(Bytes row, uint64_t bytes) {
  since_ += bytes;
  while (next_ + 1 < samples_.size() && row >= samples_[next_].key) {
    passed_ = samples_[next_++].bytes_before;
    since_ = bytes;
  }
}

double ScanShare::share() const {
  if (samples_.empty() || samples_.back().bytes_before <= first_) return 0;
  const uint64_t at = std::min(passed_ + since_, samples_[next_].bytes_before);
  return static_cast<double>(at - first_) /
         static_cast<double>(samples_.back().bytes_before - first_);
}

Exporter::Exporter(client::SyncClient& client, std::string table, client::ReadRows request,
                   ColumnChoice columns, Events events)
    : client_(client),
      table_(std::move(table)),
      request_(std::move(request)),
      columns_(std::move(columns)),
      events_(std::move(events)) {
  if (request_.ranges.empty()) request_.ranges.emplace_back();
  request_.notes.with_expiry = true;
}

Result<void> Exporter::run(RowWriter& writer, OutputFile& out, const std::string& after,
                           ScanShare& share) {
  last_ = after;
  Patience patience;
  while (true) {
    const std::string before = last_;
    auto result = scan(writer, out, share);
    if (result || !passes(result.error())) return result;
    if (last_ != before) patience.progressed();
    if (!patience.wait(client_)) return result;
  }
}

Result<void> Exporter::scan(RowWriter& writer, OutputFile& out, ScanShare& share) {
  client::ReadRows request = request_;
  if (!last_.empty()) {
    request.ranges[0].start = last_;
    request.ranges[0].start_open = true;
  }
  client::ReadStream stream = client_.read_rows(table_, request);
  while (true) {
    TRY(const client::CellBlock block, client_.next(stream));
    if (block.empty()) break;
    if (!block.tells_expiry())
      return fail(Errc::failed_precondition,
                  "the node does not tell when cells expire, so an export of it would lose that");
    for (const client::RowPart& part : block.rows()) TRY_VOID(take(part, writer, share));
    if (const std::string piece = writer.take(); !piece.empty()) TRY_VOID(out.write(piece));
    if (events_.progress) events_.progress();
  }
  return out.write(writer.finish());
}

Result<void> Exporter::take(const client::RowPart& part, RowWriter& writer, ScanShare& share) {
  if (!part.continued) {
    writer.begin_row(part.key);
    any_cell_ = false;
    row_bytes_ = 0;
  }
  for (const client::Cell& cell : part.cells) {
    row_bytes_ += part.key.size() + cell.qualifier.size() + cell.value.size();
    if (!columns_.has(cell.family, cell.qualifier)) continue;
    writer.add(cell);
    any_cell_ = true;
  }
  if (!part.complete) return {};
  if (any_cell_) writer.end_row();
  last_ = std::string(part.key);
  share.seen(part.key, row_bytes_);
  return {};
}

}  // namespace cellar::cli
