#include "engine/repair/manifest_salvage.h"

#include <algorithm>
#include <optional>

#include "engine/catalog/catalog.h"
#include "engine/store/file/record_file.h"
#include "engine/store/manifest/manifest_file.h"

namespace cellar::engine {
namespace {

// The two pointers; empty: missing or damaged.
struct Pointers {
  std::optional<uint64_t> current;
  std::optional<uint64_t> previous;
  bool switching = false;  // a crash interrupted a switch: the next pointer is there
};

Async<std::optional<uint64_t>> read_pointer(FileSystem& fs, std::string path,
                                            std::vector<std::string>* damage) {
  const auto content = co_await read_file(fs, path);
  if (content) {
    if (const auto number = decode_current(*content)) co_return *number;
  }
  if (damage == nullptr) co_return std::nullopt;
  if (content) {
    damage->push_back(fmt::format("{} is damaged", path));
  } else {
    damage->push_back(content.error().code == Errc::not_found ? fmt::format("{} is missing", path)
                                                              : content.error().message);
  }
  co_return std::nullopt;
}

// A file that can be the deciding one.
Async<Result<ManifestState>> load_whole(FileSystem& fs, uint64_t number) {
  CO_TRY(LoadedManifest loaded, co_await load_manifest(fs, number));
  if (!loaded.state.complete) {
    co_return fail(Errc::data_loss, "{}: its snapshot has no end", manifest_path(number));
  }
  const auto contents = decode_manifest(loaded.state.entries);
  if (!contents) {
    co_return fail(Errc::data_loss, "{}: {}", manifest_path(number), contents.error().message);
  }
  co_return std::move(loaded.state);
}

// Applies every entry whose records are whole.
class PartLoader {
 public:
  void take(const RecordView& record) {
    if (record.type != RecordType::data) return;
    const bool first = (record.flags & kFirstFragment) != 0;
    if (first) entry_.clear();
    if (!first && !in_entry_) return;
    entry_.append(record.payload);
    in_entry_ = (record.flags & kLastFragment) == 0;
    if (in_entry_) return;
    // An error: the end of a snapshot of which a part is lost.
    const Result<void> applied = apply_entry(entry_, state_);
    complete_ |= applied && state_.complete;
  }
  void lose() { in_entry_ = false; }
  ManifestState& state() { return state_; }
  bool complete() const { return complete_; }

 private:
  ManifestState state_;
  bool complete_ = false;
  std::string entry_;
  bool in_entry_ = false;
};

Async<Result<void>> read_records(RecordFileScan& scan, uint64_t bytes, PartLoader& loader) {
  using Step = RecordFileScan::Step;
  for (;;) {
    RecordView record;
    bool fill = false;
    switch (scan.next(record)) {
      case Step::record:
        loader.take(record);
        break;
      case Step::fill:
        fill = true;
        break;
      case Step::zeros:
      case Step::bad:
        loader.lose();
        fill = !scan.skip_block();
        break;
      case Step::end_of_file:
        co_return Result<void>();
    }
    if (!fill) continue;
    if (scan.offset() == bytes) co_return Result<void>();
    CO_TRY_VOID(co_await scan.fill());
  }
}

Async<void> load_part(FileSystem& fs, uint64_t number, PartLoader& loader) {
  OpenOptions how;
  how.direct = true;
  const std::string path = manifest_path(number);
  auto file = co_await fs.open(path, how);
  if (!file) co_return;
  const auto size = co_await (*file)->size();
  FileHeader header;
  header.kind = RecordFileKind::manifest;
  header.id = number;
  header.file_bytes = size ? align_down(*size, kIoAlignment) : 0;
  Result<void> read;
  if (header.file_bytes > kFileHeaderBlockBytes) {
    RecordFileScan scan(**file, header, 0);
    read = co_await read_records(scan, header.file_bytes, loader);
  }
  read = co_await close_after(*std::move(file), std::move(read));
  (void)read;  // of a device: what was read counts
}

struct Candidates {
  std::vector<uint64_t> numbers;  // ascending
  std::map<uint64_t, ManifestState> whole;
};

// The number of the deciding file.
std::optional<uint64_t> decide(const Pointers& pointers, const Candidates& files) {
  if (pointers.current) {
    if (files.whole.contains(*pointers.current)) return pointers.current;
    return std::nullopt;
  }
  std::optional<uint64_t> newest;
  for (const auto& [number, state] : files.whole) {
    if (!newest || state.next_version >= files.whole.at(*newest).next_version) newest = number;
  }
  if (!newest || files.numbers.back() > files.whole.rbegin()->first) return std::nullopt;
  if (!pointers.previous) return std::nullopt;
  if (*newest <= *pointers.previous && !pointers.switching) return std::nullopt;
  return newest;
}

}  // namespace

Async<Result<std::vector<DirEntry>>> list_if_there(FileSystem& fs, std::string_view folder) {
  auto entries = co_await fs.list(std::string(folder));
  if (!entries && entries.error().code == Errc::not_found) co_return std::vector<DirEntry>();
  co_return entries;
}

Async<Result<SalvagedManifest>> salvage_manifest(FileSystem& fs) {
  SalvagedManifest found;
  CO_TRY(const std::vector<DirEntry> entries, co_await list_if_there(fs, kManifestDirectory));
  Candidates files;
  Pointers pointers;
  const std::string next = std::string(kCurrentPath) + std::string(kTemporarySuffix);
  for (const DirEntry& entry : entries) {
    if (const auto number = parse_manifest_name(entry.name)) files.numbers.push_back(*number);
    pointers.switching |= fmt::format("{}/{}", kManifestDirectory, entry.name) == next;
  }
  std::ranges::sort(files.numbers);
  found.files = files.numbers.size();
  std::vector<std::string> damage;
  pointers.current = co_await read_pointer(fs, std::string(kCurrentPath), &damage);
  pointers.previous = co_await read_pointer(fs, std::string(kPreviousPath), nullptr);
  for (const uint64_t number : files.numbers) {
    auto state = co_await load_whole(fs, number);
    if (state) {
      files.whole.emplace(number, *std::move(state));
    } else if (!pointers.current || number >= *pointers.current) {
      damage.push_back(state.error().message);
    }
  }
  if (const auto number = decide(pointers, files)) {
    found.decides = true;
    found.path = manifest_path(*number);
    found.entries = std::move(files.whole.at(*number).entries);
    found.damage = std::move(damage);
    co_return found;
  }
  if (pointers.current && !std::ranges::binary_search(files.numbers, *pointers.current)) {
    damage.push_back(fmt::format("{} is missing", manifest_path(*pointers.current)));
  }
  found.damage = std::move(damage);
  for (const uint64_t number : files.numbers) {
    PartLoader loader;
    co_await load_part(fs, number, loader);
    if (loader.state().entries.empty()) continue;
    found.path = manifest_path(number);
    if (loader.complete()) found.entries.clear();
    for (auto& [key, entry] : loader.state().entries) {
      if (!entry.state.empty()) found.entries[key] = std::move(entry);
    }
  }
  co_return found;
}

}  // namespace cellar::engine
