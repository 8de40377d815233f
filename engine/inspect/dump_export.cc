#include "engine/inspect/dump_export.h"

#include "engine/export/export_check.h"
#include "engine/export/row_reader.h"
#include "engine/model/key.h"

namespace cellar::engine {
namespace {

constexpr size_t kStepBytes = 4u << 20;

// The bytes at `offset`, fewer at the end; in pieces, so that a damaged length does not allocate
// more than the file has.
Async<Result<std::string>> read_some(File& file, uint64_t offset, size_t size) {
  std::string out;
  while (out.size() < size) {
    const size_t at = out.size();
    const size_t step = std::min(kStepBytes, size - at);
    out.resize(at + step);
    const std::span<std::byte> into = std::as_writable_bytes(std::span(out)).subspan(at);
    CO_TRY(const size_t n, co_await read_at(file, offset + at, into, IoClass::read));
    out.resize(at + n);
    if (n < step) break;
  }
  co_return out;
}

void show_rows(uint64_t offset, Bytes payload, const EntryFilter& filter, Dump& dump) {
  RowReader rows(payload);
  while (rows.next_row()) {
    if (!filter.wants_row(rows.key())) continue;
    dump.entry(offset, rows.key(),
               fmt::format("row \"{}\": {} cells", escape_bytes(rows.key()), rows.cells()));
    ExportCell cell;
    while (rows.next_cell(cell)) {
      const std::string expiry =
          cell.expire_at_us ? fmt::format(" expires {}", *cell.expire_at_us) : std::string();
      dump.entry(offset, cell.value,
                 fmt::format("  {}:\"{}\" at {}{} = \"{}\"", escape_bytes(cell.family),
                             escape_bytes(cell.qualifier), cell.timestamp_us, expiry,
                             escape_bytes(cell.value)));
    }
  }
}

void show_frame(FrameKind kind, uint64_t offset, Bytes payload, const ExportCheck& check,
                DumpOptions options, Dump& dump) {
  const uint64_t size = kFrameHeadBytes + payload.size();
  switch (kind) {
    case FrameKind::description:
      dump.section(offset, size, "description");
      dump.field(offset + kFrameHeadBytes, {}, payload);
      break;
    case FrameKind::rows:
      dump.section(offset, size, fmt::format("rows: {} so far", check.counts().rows));
      if (options.entries) show_rows(offset + kFrameHeadBytes, payload, options.filter, dump);
      break;
    case FrameKind::end:
      dump.section(offset, size,
                   fmt::format("end: {} rows, {} cells, {} bytes of values", check.counts().rows,
                               check.counts().cells, check.counts().value_bytes));
      break;
  }
}

}  // namespace

Async<Result<void>> dump_export(File& file, DumpOptions options, Dump& dump) {
  ExportCheck check;
  CO_TRY(const std::string head, co_await read_some(file, 0, kExportHeadBytes));
  dump.section(0, head.size(), "head");
  CO_TRY_VOID(check.file_head(head));
  while (true) {
    const uint64_t offset = check.bytes();
    CO_TRY(const std::string frame_head, co_await read_some(file, offset, kFrameHeadBytes));
    if (frame_head.empty() && check.ended()) break;
    if (frame_head.size() < kFrameHeadBytes) {
      co_return fail(Errc::data_loss, "the file ends at byte {} without its end mark",
                     offset + frame_head.size());
    }
    CO_TRY(const FrameHead decoded, decode_frame_head(frame_head));
    const uint64_t payload_at = offset + kFrameHeadBytes;
    CO_TRY(const std::string payload, co_await read_some(file, payload_at, decoded.payload_bytes));
    if (payload.size() < decoded.payload_bytes) {
      co_return fail(Errc::data_loss, "the frame at byte {} is cut off", offset);
    }
    CO_TRY(const FrameKind kind, check.frame(frame_head, payload));
    show_frame(kind, offset, payload, check, options, dump);
  }
  co_return Result<void>();
}

}  // namespace cellar::engine
