#include "engine/repair/log_salvage.h"

#include <algorithm>
#include <map>

#include "engine/store/log/local_log.h"
#include "engine/store/log/log_files.h"
#include "io/base/coding.h"

namespace cellar::engine {

// Finds the end of the log and what is lost before it.
class LogSalvage::Surveyor final : public Walker {
 public:
  void record(const RecordView& record, uint64_t begin, uint64_t end) override {
    (void)begin;
    greatest_mark = std::max(greatest_mark, record.durable_mark);
    last_end = end;
    if (record.type != RecordType::trim) return;
    cellar::Reader in(record.payload);
    trimmed = std::max(trimmed, in.u64());
  }
  void gap(uint64_t from, uint64_t to) override { gaps.emplace_back(from, to); }
  Async<Result<void>> rest() override { co_return Result<void>(); }

  uint64_t greatest_mark = 0;
  uint64_t trimmed = 0;
  uint64_t last_end = 0;
  std::vector<std::pair<uint64_t, uint64_t>> gaps;
};

// Assembles the entries before the end.
class LogSalvage::Reader final : public Walker {
 public:
  Reader(LogSalvage& log, LogTaker& sink) : log_(log), sink_(sink) {}

  void record(const RecordView& record, uint64_t begin, uint64_t end) override {
    if (begin >= log_.end_) {
      log_.torn_records_ += record.type == RecordType::data;
      return;
    }
    if (record.type != RecordType::data) return;
    const bool first = (record.flags & kFirstFragment) != 0;
    const bool last = (record.flags & kLastFragment) != 0;
    if (first && in_entry_) abandon();  // its last fragment never came
    if (first) entry_.clear();
    if (!first && !in_entry_) return;  // begins in a gap, or before the first segment
    in_entry_ = !last;
    entry_.append(record.payload);
    if (entry_.size() > kMaxLogEntryBytes + kLogEntryHeadBytes) return abandon();
    if (last) deliver(end);
  }
  void gap(uint64_t from, uint64_t to) override {
    if (from >= log_.end_) return;
    in_entry_ = false;  // the gap tells of it
    to = std::min(to, log_.end_);
    bool known = to <= log_.from_;
    for (LogGap& one : log_.gaps_) {
      if (one.from == from) one.after = last_stamp_;
      known |= one.from <= from && to <= one.to;
    }
    // The device read it when the log was surveyed, and does not now.
    if (!known) {
      log_.gaps_.push_back(
          {.from = from, .to = to, .place = log_.place_of(from), .after = last_stamp_});
    }
    after_gap_ = true;
  }
  Async<Result<void>> rest() override { return sink_.rest(); }

 private:
  void abandon() {
    in_entry_ = false;
    entry_.clear();
    ++log_.broken_;
  }
  void deliver(uint64_t end) {
    const auto entry = decode_entry(entry_);
    if (!entry) return abandon();
    if (after_gap_) {
      for (LogGap& gap : log_.gaps_) {
        if (gap.to <= end && gap.before == kMaxStamp) gap.before = entry->stamp;
      }
      after_gap_ = false;
    }
    last_stamp_ = std::max(last_stamp_, entry->stamp);
    if (end <= log_.from_) return;
    ++log_.entries_;
    sink_.entry(*entry, LogPosition{end});
  }

  LogSalvage& log_;
  LogTaker& sink_;
  std::string entry_;
  bool in_entry_ = false;
  bool after_gap_ = false;
  CommitStamp last_stamp_;
};

LogSalvage::LogSalvage(FileSystem& fs, LogId log, std::set<uint64_t> segments)
    : fs_(fs), log_(log), segments_(std::move(segments)) {}

std::string LogSalvage::place_of(uint64_t position) const {
  return fmt::format("{} at {}", segment_path(log_, position / segment_bytes_),
                     position % segment_bytes_);
}

// The size of a segment: a header's word, or else the size of most files.
Async<void> LogSalvage::measure() {
  std::map<uint64_t, size_t> sizes;
  for (const uint64_t segment : segments_) {
    const std::string path = segment_path(log_, segment);
    auto opened = co_await open_record_file(fs_, path, RecordFileKind::log);
    if (opened) {
      const bool ours = opened->header.id == log_.value();
      if (ours) segment_bytes_ = opened->header.file_bytes;
      const Result<void> closed = co_await opened->file->close();
      (void)closed;  // it was only read
      if (ours) co_return;
      continue;
    }
    const OpenOptions how;
    auto file = co_await fs_.open(path, how);
    if (!file) continue;
    const auto size = co_await (*file)->size();
    const Result<void> closed = co_await (*file)->close();
    (void)closed;
    if (size && *size % kIoAlignment == 0 && *size > kFileHeaderBlockBytes) ++sizes[*size];
  }
  size_t most = 0;
  for (const auto& [size, files] : sizes) {
    if (files < most) continue;
    most = files;
    segment_bytes_ = size;
  }
}

Async<Result<void>> LogSalvage::survey(uint64_t from, uint64_t recorded_end) {
  from_ = from;
  co_await measure();
  if (segment_bytes_ == 0) {
    gaps_.push_back({.from = from, .to = UINT64_MAX, .place = segment_path(log_, 0)});
    co_return Result<void>();
  }
  Surveyor surveyor;
  CO_TRY_VOID(co_await walk(surveyor));
  const uint64_t written = std::max({surveyor.greatest_mark, recorded_end, cut_});
  end_ = UINT64_MAX;
  const uint64_t first = *segments_.begin() * segment_bytes_;
  if (first > from && surveyor.trimmed < first) {
    gaps_.push_back({.from = from, .to = first, .place = place_of(first - segment_bytes_)});
  }
  for (const auto& [begin, end] : surveyor.gaps) {
    if (begin >= written) {
      end_ = begin;
      break;
    }
    if (end <= from) continue;
    gaps_.push_back({.from = begin, .to = end, .place = place_of(begin)});
  }
  co_return Result<void>();
}

Async<Result<void>> LogSalvage::deliver(LogTaker& sink) {
  if (segment_bytes_ == 0) co_return Result<void>();
  Reader reader(*this, sink);
  CO_TRY_VOID(co_await walk(reader));
  co_return co_await sink.rest();
}

void LogSalvage::begin_gap(uint64_t at) {
  if (!gap_from_) gap_from_ = at;
}

void LogSalvage::cut_at(uint64_t at) {
  begin_gap(at);
  cut_ = std::max(cut_, at + 1);
}

void LogSalvage::end_gap(uint64_t at, Walker& walker) {
  if (!gap_from_) return;
  walker.gap(*gap_from_, at);
  gap_from_.reset();
}

Async<Result<void>> LogSalvage::walk(Walker& walker) {
  gap_from_.reset();
  uint64_t expected = *segments_.begin();
  for (const uint64_t segment : segments_) {
    if (segment != expected) cut_at(expected * segment_bytes_ + kFileHeaderBlockBytes);
    CO_TRY_VOID(co_await walk_segment(segment, walker));
    expected = segment + 1;
  }
  end_gap(UINT64_MAX, walker);
  co_return Result<void>();
}

Async<Result<void>> LogSalvage::walk_segment(uint64_t segment, Walker& walker) {
  const uint64_t begin = segment * segment_bytes_ + kFileHeaderBlockBytes;
  OpenOptions how;
  how.direct = true;
  const std::string path = segment_path(log_, segment);
  auto file = co_await fs_.open(path, how);
  if (!file) {
    cut_at(begin);
    co_return Result<void>();
  }
  const auto size = co_await (*file)->size();
  const uint64_t bytes = align_down(size ? std::min(*size, segment_bytes_) : 0, kIoAlignment);
  Result<void> walked;
  if (bytes > kFileHeaderBlockBytes) {
    walked = co_await walk_file(**file, segment, bytes, walker);
  }
  if (bytes < segment_bytes_) {
    cut_at(segment * segment_bytes_ + std::max<uint64_t>(bytes, kFileHeaderBlockBytes));
  }
  co_return co_await close_after(*std::move(file), std::move(walked));
}

Async<Result<void>> LogSalvage::walk_file(File& file, uint64_t segment, uint64_t bytes,
                                          Walker& walker) {
  using Step = RecordFileScan::Step;
  FileHeader header;
  header.id = log_.value();
  header.number = segment;
  header.file_bytes = bytes;
  RecordFileScan scan(file, header, segment * segment_bytes_);
  BadBlocks bad;
  for (;;) {
    RecordView record;
    bool fill = false;
    switch (scan.next(record)) {
      case Step::record: {
        const uint64_t end = scan.position();
        end_gap(end - record.size(), walker);
        walker.record(record, end - record.size(), end);
        break;
      }
      case Step::fill:
        fill = true;
        break;
      case Step::zeros:
      case Step::bad:
        begin_gap(scan.position());
        fill = !scan.skip_block();
        break;
      case Step::end_of_file:
        co_return Result<void>();
    }
    if (!fill) continue;
    if (scan.offset() == bytes) co_return Result<void>();
    co_await read_on(scan, bad);
    if (bad.blocks == kMostBadBlocks) co_return Result<void>();
    CO_TRY_VOID(co_await walker.rest());
  }
}

// A chunk that the device cannot read is read block by block; a block that it cannot read is passed
// over.
Async<void> LogSalvage::read_on(RecordFileScan& scan, BadBlocks& bad) {
  if (scan.read_to() >= bad.until) {
    const Result<void> filled = co_await scan.fill();
    if (filled) co_return;
    bad.until = scan.read_to() + RecordFileScan::kChunkBytes;
  }
  const Result<void> filled = co_await scan.fill(kIoAlignment);
  if (filled) co_return;
  ++bad.blocks;
  cut_at(scan.position());
  scan.skip_to(scan.read_to() + kIoAlignment);
}

}  // namespace cellar::engine
