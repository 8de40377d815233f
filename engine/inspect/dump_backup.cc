#include "engine/inspect/dump_backup.h"

#include "engine/backup/backup_file.h"
#include "engine/inspect/describe_state.h"
#include "io/base/time_text.h"

namespace cellar::engine {
namespace {

constexpr size_t kBackupMagicBytes = 8;

void show_facts(const BackupFile& file, Dump& dump) {
  const auto line = [&dump](const std::string& text) { dump.field(0, {}, text); };
  line(fmt::format("of data directory {}, written by version {}", file.source, file.program));
  line(fmt::format("as of wall clock {}, trusted time {}", time_text(file.wall_us),
                   time_text(file.trusted_us)));
  line(fmt::format("{} blobs of {} bytes, of which {} were new", file.blobs.size(), file.bytes(),
                   file.copied_bytes));
}

void show_entry(ManifestKey key, const ManifestEntry& entry, DumpOptions options, Dump& dump) {
  dump.field(0, options.entries ? Bytes(entry.state) : Bytes(),
             fmt::format("{} version {}", key_text(key), entry.version));
  const auto state = describe_state(key, entry.state);
  if (!state) return dump.problem(fmt::format("{}: {}", key_text(key), state.error().message));
  for (const std::string& sentence : *state) dump.field(0, {}, "  " + sentence);
  for (const auto& [item, value] : entry.items) {
    const auto text = describe_item(key, item, value);
    if (!text) return dump.problem(fmt::format("{}: {}", key_text(key), text.error().message));
    dump.field(0, options.entries ? Bytes(value) : Bytes(), "  " + *text);
  }
}

}  // namespace

Async<Result<void>> dump_backup(FileSystem& fs, std::string path, DumpOptions options, Dump& dump) {
  CO_TRY(const std::string content, co_await read_file(fs, path));
  CO_TRY(const BackupFile file, decode_backup(content, path));
  dump.section(0, content.size(), "backup");
  dump.field(0, Bytes(content).substr(0, kBackupMagicBytes), "magic");
  show_facts(file, dump);
  dump.section(0, 0, fmt::format("manifest: {} entries", file.entries.size()));
  for (const auto& [key, entry] : file.entries) show_entry(key, entry, options, dump);
  dump.section(0, 0, fmt::format("blobs: {}", file.blobs.size()));
  for (const BackupBlob& blob : file.blobs) {
    dump.field(
        0, {},
        fmt::format("{:016x}: {} bytes, checksum {:08x}", blob.id.value(), blob.bytes, blob.crc));
  }
  if (const auto whole = contents_of(file, path); !whole) dump.problem(whole.error().message);
  co_return Result<void>();
}

}  // namespace cellar::engine
