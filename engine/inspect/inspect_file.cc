#include "engine/inspect/inspect_file.h"

#include "engine/export/export_format.h"
#include "engine/inspect/dump_backup.h"
#include "engine/inspect/dump_export.h"
#include "engine/inspect/dump_records.h"
#include "engine/inspect/dump_table.h"
#include "engine/sstable/format.h"
#include "engine/store/blob/blob_files.h"
#include "engine/store/file/record_file.h"
#include "engine/store/local/format_file.h"
#include "engine/store/log/log_files.h"
#include "engine/store/manifest/manifest_file.h"
#include "io/disk/path.h"

namespace cellar::engine {
namespace {

constexpr Bytes kLogMagic = "CELLRLOG";
constexpr Bytes kManifestMagic = "CELLRMAN";
constexpr std::string_view kCurrentName = "CURRENT";
constexpr std::string_view kExportSuffix = ".cellar";
constexpr size_t kMagicBytes = 8;

enum class FileKind : uint8_t { unknown, table, log, manifest, exported, backup };

// Determined by the magic or, if that is damaged, by the name.
FileKind kind_of(Bytes magic, std::string_view name) {
  if (magic == kExportMagic || name.ends_with(kExportSuffix)) return FileKind::exported;
  if (magic == kBackupMagic) return FileKind::backup;
  if (magic == kTableMagic ||
      (magic != kLogMagic && magic != kManifestMagic && parse_blob_file(name).has_value())) {
    return FileKind::table;
  }
  if (magic == kLogMagic || parse_log_file(name).has_value()) return FileKind::log;
  if (magic == kManifestMagic || parse_manifest_name(name).has_value()) return FileKind::manifest;
  return FileKind::unknown;
}

Async<Result<void>> inspect_open_file(FileSystem& fs, File& file, std::string path,
                                      DumpOptions options, Dump& dump) {
  std::string magic(kMagicBytes, '\0');
  const std::span<std::byte> into = std::as_writable_bytes(std::span(magic));
  CO_TRY_VOID(co_await read_at(file, 0, into, IoClass::read));
  const std::string name(path_leaf(path));
  if (name == kCurrentName) {
    dump.begin_file(path, "manifest pointer");
    CO_TRY(const std::string content, co_await read_file(fs, path));
    CO_TRY(const uint64_t number, decode_current(content));
    dump.field(0, content, fmt::format("manifest {:08x} is true", number));
    co_return Result<void>();
  }
  if (name == kFormatPath) {
    dump.begin_file(path, "format of a data directory");
    CO_TRY(const std::string content, co_await read_file(fs, path));
    CO_TRY(const DirectoryFormat format, decode_format(content));
    dump.field(0, content, fmt::format("format {}, directory {}", format.version, format.id));
    if (format.version != kDirectoryFormat) {
      dump.note(fmt::format("this program reads format {} only", kDirectoryFormat));
    }
    co_return Result<void>();
  }
  switch (kind_of(magic, name)) {
    case FileKind::backup:
      dump.begin_file(path, "backup");
      co_return co_await dump_backup(fs, path, options, dump);
    case FileKind::table: {
      dump.begin_file(path, "table");
      std::optional<BlobId> blob;
      if (const auto known = parse_blob_file(name)) blob = known->id;
      co_return co_await dump_table(file, blob, options, dump);
    }
    case FileKind::log:
      dump.begin_file(path, "log segment");
      co_return co_await dump_record_file(fs, path, RecordFileKind::log, options, dump);
    case FileKind::manifest:
      dump.begin_file(path, "manifest");
      co_return co_await dump_record_file(fs, path, RecordFileKind::manifest, options, dump);
    case FileKind::exported:
      dump.begin_file(path, "export");
      co_return co_await dump_export(file, options, dump);
    case FileKind::unknown:
      break;
  }
  co_return fail(Errc::invalid_argument,
                 "{} is no table, log segment, manifest, backup, FORMAT or export: its first bytes "
                 "are '{}'",
                 path, escape_bytes(magic));
}

}  // namespace

Async<Result<void>> inspect_file(FileSystem& fs, std::string path, DumpOptions options,
                                 Dump& dump) {
  const OpenOptions how;
  CO_TRY(auto file, co_await fs.open(path, how));
  Result<void> result = co_await inspect_open_file(fs, *file, path, options, dump);
  if (!result && result.error().code == Errc::data_loss) {
    dump.problem(result.error().message);
    result = Result<void>();
  }
  co_return co_await close_after(std::move(file), std::move(result));
}

}  // namespace cellar::engine
