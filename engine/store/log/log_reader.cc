#include "engine/store/log/log_reader.h"

#include <algorithm>

#include "engine/store/log/local_log.h"
#include "io/base/coding.h"

namespace cellar::engine {

LogReader::LogReader(FileSystem& fs, LogId log, LogPosition from, LogVisitor& visitor)
    : fs_(fs), log_(log), from_(from.value()), visitor_(visitor) {
  report_.end = from;
}

Async<Result<LogReadReport>> LogReader::run(std::set<uint64_t> segments) {
  if (segments.empty()) co_return fail(Errc::not_found, "log {:x} does not exist", log_.value());
  const uint64_t last = *segments.rbegin();
  uint64_t first = last;
  while (first > 0 && segments.contains(first - 1)) --first;

  const std::string path = segment_path(log_, last);
  CO_TRY(OpenedRecordFile opened, co_await open_record_file(fs_, path, RecordFileKind::log));
  segment_bytes_ = opened.header.file_bytes;
  const Result<void> ok;
  CO_TRY_VOID(co_await close_after(std::move(opened.file), ok));

  const uint64_t wanted = from_ / segment_bytes_;
  if (wanted <= last) CO_TRY_VOID(co_await read_segments(std::max(first, wanted), last));
  CO_TRY_VOID(check_front(wanted, first));
  finish();
  co_return report_;
}

Result<void> LogReader::check_front(uint64_t first_wanted, uint64_t first_found) const {
  if (first_wanted >= first_found || trimmed_ >= first_found * segment_bytes_) return {};
  return fail(Errc::data_loss, "{} is missing and was not trimmed",
              segment_path(log_, first_found - 1));
}

void LogReader::finish() {
  const uint64_t torn_from = in_entry_ || !stop_ ? records_end_ : stop_->position;
  if (!stop_) {
    if (in_entry_) report_.torn_tail_bytes = entry_.size();
  } else if (used_end_ > torn_from) {
    report_.torn_tail_bytes = used_end_ - torn_from;
  } else if (in_entry_) {
    report_.torn_tail_bytes = stop_->position - torn_from;
  }
  if (report_.torn_tail_bytes == 0) return;
  report_.torn_place = fmt::format("{} at {}", segment_path(log_, torn_from / segment_bytes_),
                                   torn_from % segment_bytes_);
}

Async<Result<void>> LogReader::read_segments(uint64_t first, uint64_t last) {
  for (uint64_t segment = first; segment <= last; ++segment) {
    CO_TRY_VOID(co_await read_segment(segment));
  }
  co_return Result<void>();
}

Async<Result<void>> LogReader::read_segment(uint64_t segment) {
  const std::string path = segment_path(log_, segment);
  CO_TRY(OpenedRecordFile opened, co_await open_record_file(fs_, path, RecordFileKind::log));
  const FileHeader& header = opened.header;
  Result<void> result;
  if (header.id != log_.value() || header.number != segment ||
      header.file_bytes != segment_bytes_) {
    result = fail(Errc::data_loss, "{} is not what its name says: log {:x}, segment {}", path,
                  header.id, header.number);
  } else {
    RecordFileScan scan(*opened.file, header, segment * segment_bytes_);
    result = co_await walk(scan, segment);
  }
  co_return co_await close_after(std::move(opened.file), std::move(result));
}

Async<Result<void>> LogReader::walk(RecordFileScan& scan, uint64_t segment) {
  using Step = RecordFileScan::Step;
  while (!stop_) {
    RecordView record;
    switch (const Step step = scan.next(record)) {
      case Step::record:
        CO_TRY_VOID(take(record, scan));
        break;
      case Step::fill:
        CO_TRY_VOID(co_await scan.fill());
        break;
      case Step::end_of_file:
        co_return Result<void>();
      case Step::zeros:
      case Step::bad:
        stop_ = Stop{segment, scan.position(), scan.offset(), step == Step::zeros};
        break;
    }
  }
  co_return co_await look_behind(scan);
}

Async<Result<void>> LogReader::look_behind(RecordFileScan& scan) {
  CO_TRY(const RecordFileScan::Rest rest, co_await scan.scan_rest());
  used_end_ = std::max(used_end_, rest.used_end);
  if (rest.greatest_mark > stop_->position) {
    co_return fail(Errc::data_loss,
                   "{} is damaged at {}: {} where a record was on disk once (everything before "
                   "position {} was, the place is {})",
                   segment_path(log_, stop_->segment), stop_->offset,
                   stop_->zeros ? "zeros" : "bad bytes", rest.greatest_mark, stop_->position);
  }
  co_return Result<void>();
}

Result<void> LogReader::take(const RecordView& record, const RecordFileScan& scan) {
  const uint64_t end = scan.position();
  switch (record.type) {
    case RecordType::data:
      TRY_VOID(take_fragment(record, end, scan.path()));
      break;
    case RecordType::trim: {
      Reader in(record.payload);
      trimmed_ = std::max(trimmed_, in.u64());
      break;
    }
    case RecordType::filler:
    case RecordType::mark:
    case RecordType::seal:
      break;
  }
  if (!in_entry_) records_end_ = end;
  return {};
}

Result<void> LogReader::take_fragment(const RecordView& record, uint64_t end,
                                      const std::string& path) {
  const bool first = (record.flags & kFirstFragment) != 0;
  const bool last = (record.flags & kLastFragment) != 0;
  if (!first && !in_entry_) {
    // The rest of an entry that started before our first position; it also ended before from_.
    if (!seen_first_) return {};
    return fail(Errc::data_loss, "{}: the entry that ends at position {} has no beginning", path,
                end);
  }
  if (first && in_entry_) {
    return fail(Errc::data_loss, "{}: the entry before the one that ends at position {} has no end",
                path, end);
  }
  seen_first_ = true;
  if (first && last) return deliver(record.payload, end);
  if (entry_.size() + record.payload.size() > kMaxLogEntryBytes + kLogEntryHeadBytes) {
    return fail(Errc::data_loss, "{}: the entry around position {} is longer than {}", path, end,
                kMaxLogEntryBytes);
  }
  entry_.append(record.payload);
  in_entry_ = !last;
  if (!last) return {};
  auto delivered = deliver(entry_, end);
  entry_.clear();
  return delivered;
}

Result<void> LogReader::deliver(Bytes bytes, uint64_t end) {
  if (end <= from_) return {};
  TRY(const LogEntry entry, decode_entry(bytes));
  report_.end = LogPosition{end};
  report_.entries += 1;
  report_.bytes += bytes.size();
  return visitor_.entry(entry, report_.end);
}

}  // namespace cellar::engine
