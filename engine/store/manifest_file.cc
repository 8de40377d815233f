#include "engine/store/manifest_file.h"

#include <algorithm>

#include "engine/store/hex_name.h"
#include "engine/store/record_file.h"
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

ManifestFile::ManifestFile(std::unique_ptr<File> file, uint64_t number, uint64_t file_bytes)
    : file_(std::move(file)),
      number_(number),
      file_bytes_(file_bytes),
      position_(kFileHeaderBlockBytes) {}

Async<Result<std::unique_ptr<ManifestFile>>> ManifestFile::create(FileSystem& fs, uint64_t number,
                                                                  uint64_t file_bytes) {
  FileHeader header;
  header.kind = RecordFileKind::manifest;
  header.id = number;
  header.file_bytes = file_bytes;
  const std::string path = manifest_path(number);
  CO_TRY(auto file, co_await prepare_record_file(fs, path, header, IoClass::log));
  co_return std::unique_ptr<ManifestFile>(new ManifestFile(std::move(file), number, file_bytes));
}

uint64_t ManifestFile::cost(uint64_t payload_bytes, uint64_t entries) {
  const uint64_t raw = payload_bytes + entries * kRecordHeaderBytes;
  const uint64_t batches = 1 + raw / (kBatchBytes - 2 * kIoAlignment);
  // Each batch: one record cut in two, its filler and a block that stays open; then the mark.
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

// Puts fragments together and applies what is whole.
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
