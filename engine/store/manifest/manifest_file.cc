#include "engine/store/manifest/manifest_file.h"

#include <algorithm>

#include "engine/store/file/hex_name.h"
#include "engine/store/file/record_file.h"
#include "io/base/check.h"
#include "io/base/crc32c.h"

namespace cellar::engine {
namespace {

constexpr size_t kNumberDigits = 8;
constexpr std::string_view kManifestSuffix = ".manifest";

}  // namespace

std::string manifest_path(uint64_t number) {
  return fmt::format("{}/{:08x}{}", kManifestDirectory, number, kManifestSuffix);
}

std::optional<uint64_t> parse_manifest_name(std::string_view name) {
  if (!name.ends_with(kManifestSuffix)) return std::nullopt;
  name.remove_suffix(kManifestSuffix.size());
  return parse_hex(name, kNumberDigits);
}

std::string encode_current(uint64_t number) {
  std::string line = fmt::format("cellar manifest {:08x}", number);
  return line + fmt::format(" {:08x}\n", crc32c(line));
}

Result<uint64_t> decode_current(Bytes content) {
  constexpr size_t kNumberAt = std::string_view("cellar manifest ").size();
  if (content.size() > kNumberAt + kNumberDigits) {
    const auto number = parse_hex(content.substr(kNumberAt, kNumberDigits), kNumberDigits);
    if (number && encode_current(*number) == content) return *number;
  }
  return fail(Errc::data_loss, "{} is damaged: {}", kCurrentPath, escape_bytes(content));
}

Async<Result<std::optional<uint64_t>>> read_current(FileSystem& fs) {
  for (const std::string_view path : {kCurrentPath, kPreviousPath}) {
    const std::string name(path);
    auto content = co_await read_file(fs, name);
    if (!content && content.error().code == Errc::not_found) continue;
    if (!content) co_return std::unexpected(std::move(content).error());
    CO_TRY(const uint64_t number, decode_current(*content));
    co_return std::optional<uint64_t>(number);
  }
  co_return std::optional<uint64_t>();
}

Async<Result<void>> recover_current(FileSystem& fs) {
  const std::string current(kCurrentPath);
  const auto content = co_await read_file(fs, current);
  if (content || content.error().code != Errc::not_found) co_return Result<void>();
  const std::string previous(kPreviousPath);
  const Result<void> renamed = co_await fs.rename(previous, current);
  if (!renamed && renamed.error().code == Errc::not_found) co_return Result<void>();
  CO_TRY_VOID(renamed);
  const std::string directory(kManifestDirectory);
  co_return co_await fs.sync_dir(directory);
}

namespace {

Async<Result<void>> overwrite(FileSystem& fs, std::string path, std::string content,
                              OpenOptions::Mode mode) {
  OpenOptions options;
  options.mode = mode;
  CO_TRY(std::unique_ptr<File> file, co_await fs.open(path, options));
  const std::span<const std::byte> bytes = std::as_bytes(std::span(content));
  auto written = co_await write_at(*file, 0, bytes, IoClass::log);
  if (written) written = co_await file->truncate(content.size());
  if (written) written = co_await sync(*file, IoClass::log);
  co_return co_await close_after(std::move(file), std::move(written));
}

// Writes the new pointer beside the current one, into the block of the previous pointer if there is
// one.
Async<Result<void>> prepare_current(FileSystem& fs, std::string temporary, uint64_t number) {
  const std::string previous(kPreviousPath);
  const Result<void> renamed = co_await fs.rename(previous, temporary);
  if (!renamed && renamed.error().code != Errc::not_found) co_return renamed;
  const std::string content = encode_current(number);
  auto written = co_await overwrite(fs, temporary, content, OpenOptions::Mode::read_write);
  if (written || written.error().code != Errc::not_found) co_return written;
  co_return co_await overwrite(fs, temporary, content, OpenOptions::Mode::create_new);
}

}  // namespace

Async<void> keep_pointer(FileSystem& fs) {
  const std::string previous(kPreviousPath);
  const auto there = co_await read_file(fs, previous);
  if (there || there.error().code != Errc::not_found) co_return;
  const std::string content = encode_current(0);
  const auto kept = co_await overwrite(fs, previous, content, OpenOptions::Mode::create_new);
  (void)kept;  // the next switch creates its own
}

// A crash between the renames leaves no CURRENT; then CURRENT.old is valid.
Async<SwitchOutcome> write_current(FileSystem& fs, uint64_t number) {
  const std::string current(kCurrentPath);
  const std::string previous(kPreviousPath);
  const std::string directory(kManifestDirectory);
  const std::string temporary = current + std::string(kTemporarySuffix);
  Result<void> done = co_await prepare_current(fs, temporary, number);
  if (!done) co_return SwitchOutcome{Switched::no, std::move(done).error()};
  done = co_await fs.rename(current, previous);
  if (!done && done.error().code == Errc::not_found) done = {};  // the first switch
  if (done) done = co_await fs.rename(temporary, current);
  if (done) done = co_await fs.sync_dir(directory);
  if (!done) co_return SwitchOutcome{Switched::maybe, std::move(done).error()};
  co_return SwitchOutcome{};
}

ManifestFile::ManifestFile(std::unique_ptr<File> file, uint64_t number, uint64_t file_bytes)
    : file_(std::move(file)),
      number_(number),
      file_bytes_(file_bytes),
      position_(kFileHeaderBlockBytes) {}

Async<Result<std::unique_ptr<ManifestFile>>> ManifestFile::create(
    FileSystem& fs, uint64_t number, uint64_t file_bytes, std::optional<std::string> spare) {
  FileHeader header;
  header.kind = RecordFileKind::manifest;
  header.id = number;
  header.file_bytes = file_bytes;
  const std::string path = manifest_path(number);
  Result<std::unique_ptr<File>> file;
  if (spare) {
    file = co_await prepare_record_file_in(fs, *spare, path, header, IoClass::log);
  } else {
    file = co_await prepare_record_file(fs, path, header, IoClass::log);
  }
  if (!file) co_return std::unexpected(std::move(file).error());
  co_return std::unique_ptr<ManifestFile>(new ManifestFile(*std::move(file), number, file_bytes));
}

uint64_t ManifestFile::cost(uint64_t payload_bytes, uint64_t entries) {
  const uint64_t raw = payload_bytes + entries * kRecordHeaderBytes;
  const uint64_t batches = 1 + raw / (kBatchBytes - 2 * kIoAlignment);
  // Per batch: one record split in two, its filler and a block that stays open; then the mark.
  return align_up(raw + batches * (3 * kRecordHeaderBytes + kIoAlignment)) + 2 * kIoAlignment;
}

BatchBuilder ManifestFile::new_batch(uint64_t position) const {
  const auto capacity =
      static_cast<size_t>(std::min<uint64_t>(kBatchBytes, file_bytes_ - position));
  CHECK(capacity > 0, "{} is full", file_->path());
  const uint64_t owner = record_owner(RecordFileKind::manifest, number_);
  return BatchBuilder(AlignedBuffer(capacity), capacity, owner, position);
}

std::vector<BatchBuilder> ManifestFile::build(const std::vector<std::string>& entries) const {
  std::vector<BatchBuilder> batches;
  batches.push_back(new_batch(position_));
  const auto next = [&] {
    batches.back().close(position_);
    batches.push_back(new_batch(batches.back().end()));
  };
  for (const std::string& entry : entries) {
    Bytes left = entry;
    uint8_t flags = kFirstFragment;
    for (;;) {
      if (batches.back().room() == 0) next();
      left.remove_prefix(batches.back().add(RecordType::data, flags, position_, left, Bytes()));
      if (left.empty()) break;
      flags = 0;
      next();
    }
  }
  batches.back().close(position_);
  return batches;
}

Async<Result<void>> ManifestFile::write_batch(BatchBuilder& batch) {
  const std::span<const std::byte> bytes = batch.contents();
  CO_TRY_VOID(co_await write_at(*file_, batch.position(), bytes, IoClass::log, true));
  position_ = batch.end();
  co_return Result<void>();
}

Async<Result<void>> ManifestFile::write(const std::vector<std::string>& entries) {
  std::vector<BatchBuilder> batches = build(entries);
  for (BatchBuilder& batch : batches) CO_TRY_VOID(co_await write_batch(batch));
  BatchBuilder mark = new_batch(position_);
  mark.add(RecordType::mark, kFirstFragment, position_, Bytes(), Bytes());
  mark.close(position_);
  co_return co_await write_batch(mark);
}

namespace {

// Assembles fragments and applies complete entries.
class Loader {
 public:
  explicit Loader(LoadedManifest& out) : out_(out) {}

  Result<void> take(const RecordView& record) {
    if (record.type != RecordType::data) return {};
    const bool first = (record.flags & kFirstFragment) != 0;
    if (first != !in_entry_) return fail(Errc::data_loss, "fragments out of order");
    entry_.append(record.payload);
    in_entry_ = (record.flags & kLastFragment) == 0;
    if (in_entry_) return {};
    if (out_.state.complete) ++out_.edits;
    auto applied = apply_entry(entry_, out_.state);
    entry_.clear();
    return applied;
  }
  uint64_t unfinished_bytes() const { return entry_.size(); }

 private:
  LoadedManifest& out_;
  std::string entry_;
  bool in_entry_ = false;
};

Async<Result<void>> load_rest(RecordFileScan& scan, const Loader& loader, LoadedManifest& out) {
  const uint64_t stopped_at = scan.position();
  CO_TRY(const RecordFileScan::Rest rest, co_await scan.scan_rest());
  if (rest.greatest_mark > stopped_at) {
    co_return fail(Errc::data_loss, "{} is damaged at {}: everything before {} was on disk once",
                   scan.path(), stopped_at, rest.greatest_mark);
  }
  out.torn_tail_bytes = loader.unfinished_bytes();
  if (rest.used_end > stopped_at) out.torn_tail_bytes += rest.used_end - stopped_at;
  co_return Result<void>();
}

Async<Result<void>> load_records(RecordFileScan& scan, LoadedManifest& out) {
  using Step = RecordFileScan::Step;
  Loader loader(out);
  for (;;) {
    RecordView record;
    switch (scan.next(record)) {
      case Step::record:
        if (auto taken = loader.take(record); !taken) {
          co_return fail(Errc::data_loss, "{} is damaged before {}: {}", scan.path(),
                         scan.position(), taken.error().message);
        }
        break;
      case Step::fill:
        CO_TRY_VOID(co_await scan.fill());
        break;
      case Step::end_of_file:
      case Step::zeros:
      case Step::bad:
        co_return co_await load_rest(scan, loader, out);
    }
  }
}

}  // namespace

Async<Result<LoadedManifest>> load_manifest(FileSystem& fs, uint64_t number) {
  const std::string path = manifest_path(number);
  CO_TRY(OpenedRecordFile opened, co_await open_record_file(fs, path, RecordFileKind::manifest));
  LoadedManifest out;
  Result<void> result;
  if (opened.header.id != number) {
    result =
        fail(Errc::data_loss, "{} is not what its name says: number {:x}", path, opened.header.id);
  } else {
    RecordFileScan scan(*opened.file, opened.header, 0);
    result = co_await load_records(scan, out);
  }
  CO_TRY_VOID(co_await close_after(std::move(opened.file), std::move(result)));
  co_return out;
}

}  // namespace cellar::engine
