#include "engine/inspect/verify_directory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "engine/inspect/inspect_file.h"
#include "engine/manifest/audit_entry.h"
#include "engine/manifest/clock_state.h"
#include "engine/manifest/states.h"
#include "engine/manifest/table_item.h"
#include "engine/manifest/table_state.h"
#include "engine/model/key.h"
#include "engine/model/mutation.h"
#include "engine/model/schema.h"
#include "engine/store/blob/blob_files.h"
#include "engine/store/file/record_file.h"
#include "engine/store/local/format_file.h"
#include "engine/store/log/log_files.h"
#include "engine/store/log/log_reader.h"
#include "engine/store/manifest/manifest_file.h"
#include "engine/wal/replay.h"

namespace cellar::engine {
namespace {

using std::string;

string joined(std::string_view directory, std::string_view name) {
  return fmt::format("{}{}{}", directory, directory.empty() ? "" : "/", name);
}

using Segments = std::map<LogId, std::set<uint64_t>>;  // by log

// The logs of a directory that is only read.
class LogsToRead final : public LogStore {
 public:
  LogsToRead(FileSystem& fs, const Segments& segments) : fs_(fs), segments_(segments) {}

  Async<Result<LogReadReport>> read(LogId id, LogPosition from, LogVisitor& visitor) override {
    LogReader reader(fs_, id, from, visitor);
    co_return co_await reader.run(segments_.at(id));
  }
  Async<Result<std::unique_ptr<Log>>> create(LogId /*id*/) override { co_return refused(); }
  Async<Result<std::vector<LogId>>> list() override { co_return refused(); }
  Async<Result<void>> fence(LogId /*id*/) override { co_return refused(); }
  Async<Result<void>> remove(LogId /*id*/) override { co_return refused(); }
  Async<Result<size_t>> remove_litter() override { co_return refused(); }

 private:
  static std::unexpected<Error> refused() {
    return fail(Errc::failed_precondition, "the logs of a verified directory are only read");
  }
  FileSystem& fs_;
  const Segments& segments_;
};

// Decodes the commits of a tablet as a start does, and keeps nothing.
class NoMemtable final : public ReplayTarget, private CommitVisitor {
 public:
  Result<void> replay(CommitStamp stamp, Bytes payload) override {
    return visit_commit(payload, stamp, *this);
  }

 private:
  void entry(Bytes /*key*/, Bytes /*value*/) override {}
  void range_delete(const RangeDelete& /*range*/, CommitStamp /*stamp*/) override {}
};

class DirectoryCheck {
 public:
  DirectoryCheck(FileSystem& fs, Dump& dump) : fs_(fs), dump_(dump) {}

  Async<Result<VerifiedFiles>> run() {
    CO_TRY_VOID(co_await list_files());
    if (!sizes_.contains(string(kCurrentPath)) && !any_of_ours_) {
      co_return fail(Errc::failed_precondition, "no data directory: there is no {}", kCurrentPath);
    }
    CO_TRY_VOID(co_await check_format());
    CO_TRY_VOID(co_await load_state());
    CO_TRY_VOID(co_await check_files());
    if (loaded_) {
      read_keys();
      check_coverage();
      check_blobs();
      co_await check_logs();
      name_orphans();
    }
    verified_.tables = tables_.size();
    for (const auto& [table, tablets] : tablets_) verified_.tablets += tablets.size();
    co_return verified_;
  }

 private:
  // A tablet's use of a blob.
  struct Use {
    uint64_t tablet = 0;
    uint64_t bytes = 0;  // expected
    bool shared = false;
  };

  Async<Result<void>> list_files() {
    std::vector<string> directories = {""};
    while (!directories.empty()) {
      const string directory = std::move(directories.back());
      directories.pop_back();
      CO_TRY(const std::vector<DirEntry> entries, co_await fs_.list(directory));
      for (const DirEntry& entry : entries) {
        const string path = joined(directory, entry.name);
        if (entry.is_dir) {
          directories.push_back(path);
          continue;
        }
        sizes_[path] = 0;
        if (is_blob(path)) {
          CO_TRY(sizes_[path], co_await size_of(path));
        }
      }
    }
    for (const auto& [path, size] : sizes_) {
      any_of_ours_ |= is_ours(path);
      const auto name = log_file(path);
      if (name && name->kind == LogFileName::Kind::gone) gone_.insert(name->log.value());
    }
    co_return Result<void>();
  }

  Async<Result<uint64_t>> size_of(string path) {
    const OpenOptions how;
    CO_TRY(auto file, co_await fs_.open(path, how));
    CO_TRY(const uint64_t size, co_await file->size());
    CO_TRY_VOID(co_await file->close());
    co_return size;
  }

  static std::string_view leaf(std::string_view path) { return path.substr(path.rfind('/') + 1); }
  static std::string_view parent(std::string_view path) {
    return path.substr(0, std::min(path.rfind('/'), path.size()));
  }
  static bool is_blob(std::string_view path) {
    const auto name = parent(path) == kBlobDirectory ? parse_blob_file(leaf(path)) : std::nullopt;
    return name && name->sealed;
  }
  static std::optional<LogFileName> log_file(std::string_view path) {
    return parent(path) == kLogDirectory ? parse_log_file(leaf(path)) : std::nullopt;
  }
  static bool is_segment(std::string_view path) {
    const auto name = log_file(path);
    return name && name->kind == LogFileName::Kind::segment;
  }
  // A segment of a removed log: an interrupted removal leaves some, one of them shortened.
  bool is_litter(std::string_view path) const {
    return is_segment(path) && gone_.contains(log_file(path)->log.value());
  }
  static bool is_manifest(std::string_view path) {
    return parent(path) == kManifestDirectory && parse_manifest_name(leaf(path)).has_value();
  }
  static bool is_ours(std::string_view path) {
    return is_blob(path) || is_segment(path) || is_manifest(path) || path == kCurrentPath;
  }

  Async<Result<void>> check_format() {
    const auto format = co_await read_format(fs_);
    if (!format) {
      dump_.problem(format.error().message);
    } else if (!*format) {
      dump_.problem(
          fmt::format("{} is missing: nothing tells of which format the data is", kFormatPath));
    }
    co_return Result<void>();
  }

  Async<Result<void>> check_files() {
    const IndexesByTable indexes = indexes_of(state_);
    const DumpOptions options{.entries = true, .filter = {}, .indexes = &indexes};
    for (const auto& [path, size] : sizes_) {
      if (!is_blob(path) && !is_segment(path) && !is_manifest(path)) continue;
      if (is_litter(path)) continue;
      const size_t before = dump_.problems();
      const Result<void> done = co_await inspect_file(fs_, path, options, dump_);
      if (!done) dump_.problem(fmt::format("{}: {}", path, done.error().to_string()));
      if (is_segment(path) && dump_.problems() > before) damaged_logs_.insert(log_file(path)->log);
      ++verified_.files;
      verified_.bytes += size;
    }
    co_return Result<void>();
  }

  Async<Result<void>> load_state() {
    const Result<std::optional<uint64_t>> number = co_await read_current(fs_);
    if (!number) {
      dump_.problem(number.error().message);
      co_return Result<void>();
    }
    if (!*number) {
      dump_.problem(
          fmt::format("{} is missing: nothing tells which manifest is true", kCurrentPath));
      co_return Result<void>();
    }
    current_ = manifest_path(**number);
    if (!sizes_.contains(current_)) {
      dump_.problem(fmt::format("{} names {}, which is missing", kCurrentPath, current_));
      co_return Result<void>();
    }
    Result<LoadedManifest> loaded = co_await load_manifest(fs_, **number);
    if (!loaded) {
      dump_.problem(fmt::format("{}: {}", current_, loaded.error().message));
    } else if (!loaded->state.complete) {
      dump_.problem(fmt::format("{}: its snapshot has no end", current_));
    } else {
      state_ = std::move(loaded->state);
      loaded_ = true;
    }
    co_return Result<void>();
  }

  void read_keys() {
    for (const auto& [key, held] : state_.entries) {
      switch (key.kind) {
        case ManifestKey::Kind::node:
          if (const auto node = decode_node_state(held.state)) {
            own_sessions_ = node->own_sessions;
          } else {
            complain("node", node.error());
          }
          break;
        case ManifestKey::Kind::table:
          read_table(key.id, held);
          break;
        case ManifestKey::Kind::tablet:
          read_tablet(key.id, held);
          break;
        case ManifestKey::Kind::clock:
          if (const auto clock = decode_clock_state(held.state); !clock) {
            complain("clock", clock.error());
          }
          break;
        case ManifestKey::Kind::audit:
          read_audit_trail(held);
          break;
      }
    }
  }

  void read_table(uint64_t id, const ManifestEntry& held) {
    const auto table = decode_table_state(held.state);
    if (!table) return complain(fmt::format("table {}", id), table.error());
    tables_[id] = table->schema.name;
  }

  void read_audit_trail(const ManifestEntry& held) {
    if (const auto state = decode_audit_state(held.state); !state) {
      complain("audit trail", state.error());
    }
    for (const auto& [sequence, bytes] : held.items) {
      if (const auto entry = decode_audit_entry(sequence, bytes); !entry) {
        complain(fmt::format("audit trail, entry {}", sequence), entry.error());
      }
    }
  }

  void read_tablet(uint64_t id, const ManifestEntry& held) {
    const auto tablet = decode_tablet_state(held.state);
    if (!tablet) return complain(fmt::format("tablet {}", id), tablet.error());
    tablets_[tablet->table.value()].emplace_back(id, *tablet);
    for (const auto& [blob, value] : held.items) {
      const auto item = decode_table_item(value);
      if (!item) {
        complain(fmt::format("tablet {}, table on disk {:016x}", id, blob), item.error());
        continue;
      }
      if (item->meta.blob.value() != blob) {
        dump_.problem(fmt::format("{}: tablet {}: the entry of blob {:016x} is about blob {:016x}",
                                  current_, id, blob, item->meta.blob.value()));
      }
      named_[blob_path(BlobId{blob})].push_back({id, item->meta.file_bytes, item->shared});
    }
  }

  // Checks that the tablets of each table cover all rows without gaps or overlaps.
  void check_coverage() {
    for (const auto& [table, name] : tables_) {
      if (!tablets_.contains(table)) {
        dump_.problem(fmt::format("{}: table '{}' ({}) has no tablet", current_, name, table));
      }
    }
    for (auto& [table, tablets] : tablets_) {
      if (!tables_.contains(table)) {
        dump_.problem(fmt::format("{}: tablet {} is of table {}, which does not exist", current_,
                                  tablets[0].first, table));
        continue;
      }
      std::ranges::sort(tablets, {}, [](const auto& t) { return t.second.start; });
      string at;
      bool open = true;  // rows from `at` on are not yet covered
      for (const auto& [id, tablet] : tablets) {
        if (!open || tablet.start != at) {
          dump_.problem(fmt::format(
              "{}: table '{}': tablet {} begins at \"{}\", the one before it ends at {}", current_,
              tables_[table], id, escape_bytes(tablet.start),
              open ? fmt::format("\"{}\"", escape_bytes(at)) : "the end"));
        }
        at = tablet.end;
        open = !tablet.end.empty();
      }
      if (open) {
        dump_.problem(fmt::format("{}: table '{}': no tablet has the rows from \"{}\" on", current_,
                                  tables_[table], escape_bytes(at)));
      }
    }
  }

  void check_blobs() {
    for (const auto& [path, users] : named_) {
      const auto file = sizes_.find(path);
      for (const auto& [tablet, bytes, shared] : users) {
        if (users.size() > 1 && !shared) {
          dump_.problem(
              fmt::format("{} is named by {} tablets and not marked as shared by tablet {}", path,
                          users.size(), tablet));
        }
        if (file == sizes_.end()) {
          dump_.problem(fmt::format("{} is missing: tablet {} names it", path, tablet));
        } else if (file->second != bytes) {
          dump_.problem(
              fmt::format("{} has {} bytes, tablet {} says {}", path, file->second, tablet, bytes));
        }
      }
    }
  }

  // Segments may be missing at the front of a log, or in a gap near it, where they were trimmed.
  // What the tablets need of a log is read as a start reads it: only all its segments together tell
  // a trimmed front and a torn tail from damage.
  Async<void> check_logs() {
    Segments logs;
    for (const auto& [path, size] : sizes_) {
      if (!is_segment(path) || is_litter(path)) continue;
      const auto name = log_file(path);
      logs[name->log].insert(name->segment);
    }
    NoMemtable target;
    std::map<LogId, ReplayPlan> plans = plan_replays(logs, target);
    LogsToRead store(fs_, logs);
    for (const auto& [log, segments] : logs) {
      const bool sound = !damaged_logs_.contains(log);  // otherwise told already, file by file
      const auto plan = plans.find(log);
      if (sound && plan != plans.end()) {
        const Result<ReplayReport> read = co_await ReplayPlan::run(std::move(plan->second), store);
        if (!read) {
          dump_.problem(read.error().message);
          continue;
        }
      }
      name_gaps(log, segments, sound);
    }
  }

  // A trimmed segment that could not be removed stays while those behind it go. In a log that is
  // sound, no tablet needs what is missing.
  void name_gaps(LogId log, const std::set<uint64_t>& segments, bool sound) {
    uint64_t expected = *segments.begin();
    for (const uint64_t segment : segments) {
      for (; expected < segment; ++expected) {
        const string path = segment_path(log, expected);
        if (sound) {
          dump_.note(fmt::format("{} is missing; no tablet needs it", path));
        } else {
          dump_.problem(fmt::format("{} is missing: the log goes on behind it", path));
        }
      }
      ++expected;
    }
  }

  // A log that a tablet still needs has at least one segment.
  std::map<LogId, ReplayPlan> plan_replays(const Segments& logs, ReplayTarget& target) {
    std::map<LogId, ReplayPlan> plans;
    for (const auto& [table, tablets] : tablets_) {
      for (const auto& [id, tablet] : tablets) {
        for (const LogSpan& span : tablet.spans) {
          if (span.from == span.to) continue;
          if (logs.contains(span.log)) {
            plans[span.log].add(TabletId{id}, tablet.epoch, {span}, target);
          } else {
            dump_.problem(fmt::format("log {:016x} is missing: tablet {} has commits in it",
                                      span.log.value(), id));
          }
        }
      }
    }
    return plans;
  }

  void name_orphans() {
    for (const auto& [path, size] : sizes_) {
      if (is_litter(path)) {
        dump_.note(fmt::format("{} is of a log that was removed; the next start removes it", path));
        continue;
      }
      if (path == kCurrentPath || path == current_ || is_segment(path)) continue;
      if (path == kPreviousPath || path == kSpareManifestPath || is_start_spare(path)) continue;
      if (is_blob(path)) {
        if (!named_.contains(path)) {
          dump_.note(fmt::format("{} is an orphan: no tablet names it; {}", path, fate_of(path)));
        }
      } else if (path.ends_with(kTemporarySuffix)) {
        dump_.note(fmt::format("{} was being made; the next start removes it", path));
      } else if (is_manifest(path)) {
        dump_.note(fmt::format("{} is not the current manifest", path));
      } else if (path != "LOCK" && path != kFormatPath && !path.ends_with(".gone")) {
        dump_.note(fmt::format("{} is none of Cellar's files", path));
      }
    }
  }

  // What the next start does with a blob that no tablet names.
  string fate_of(const string& path) const {
    const auto name = parse_blob_file(path.substr(kBlobDirectory.size() + 1));
    const bool own = name && own_sessions_.contains(session_of(name->id));
    return own ? "the next start removes it" : "it is of a session of another node, and stays";
  }

  void complain(const string& what, const Error& error) {
    dump_.problem(fmt::format("{}: {}: {}", current_, what, error.message));
  }

  FileSystem& fs_;
  Dump& dump_;
  std::map<string, uint64_t> sizes_;  // all files by path; sizes of blobs
  std::set<uint64_t> gone_;           // removed logs
  std::set<LogId> damaged_logs_;      // one of their segments is damaged or missing
  bool any_of_ours_ = false;
  VerifiedFiles verified_;
  string current_;  // the valid manifest
  bool loaded_ = false;
  ManifestState state_;
  std::map<uint64_t, string> tables_;                                          // names
  std::map<uint64_t, std::vector<std::pair<uint64_t, TabletState>>> tablets_;  // by table
  SessionSet own_sessions_;
  // Blob paths with the tablets that name them.
  std::map<string, std::vector<Use>> named_;
};

}  // namespace

Async<Result<VerifiedFiles>> verify_directory(FileSystem& fs, Dump& dump) {
  dump.begin_file(".", "data directory");
  DirectoryCheck check(fs, dump);
  co_return co_await check.run();
}

}  // namespace cellar::engine
