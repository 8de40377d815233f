#include "engine/inspect/dump_records.h"

#include "engine/inspect/describe_state.h"
#include "engine/model/mutation.h"
#include "engine/store/file/record_file.h"
#include "engine/store/log/local_log.h"
#include "engine/store/manifest/manifest_entries.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

Bytes type_name(RecordType type) {
  switch (type) {
    case RecordType::data:
      return "data";
    case RecordType::filler:
      return "filler";
    case RecordType::mark:
      return "mark";
    case RecordType::seal:
      return "seal";
    case RecordType::trim:
      return "trim";
  }
  return "unknown";
}

class ShowCommit final : public CommitVisitor {
 public:
  // `head` describes the log entry; it is printed before the first part that passes the filter.
  ShowCommit(const EntryFilter& filter, std::string head, Dump& dump)
      : filter_(filter), head_(std::move(head)), dump_(dump) {}
  void entry(Bytes key, Bytes value) override {
    ParsedKey parsed;
    std::string scratch;
    const bool known = parse_key(key, parsed);
    if (known && !filter_.wants_row(decode_segment(parsed.escaped_row, scratch))) return;
    show(describe_entry(key, value));
  }
  void range_delete(const RangeDelete& range, CommitStamp stamp) override {
    if (!filter_.wants_range(range.start, range.end)) return;
    show(fmt::format("range delete [\"{}\", \"{}\") stamp {}", escape_bytes(range.start),
                     escape_bytes(range.end), stamp));
  }
  void range_token(const TokenEntry& token, std::span<const RangeDelete> deleted,
                   CommitStamp stamp) override {
    if (filter_.row) return;
    show(fmt::format("token \"{}\" of {} range deletes stamp {}", escape_bytes(token.id),
                     deleted.size(), stamp));
  }

 private:
  void show(const std::string& text) {
    if (filter_.active() && !head_.empty()) dump_.entry(0, {}, std::exchange(head_, {}));
    dump_.entry(0, {}, text);
  }

  const EntryFilter& filter_;
  std::string head_;
  Dump& dump_;
};

bool wants_key(const EntryFilter& filter, ManifestKey key) {
  if (!filter.table) return true;
  if (key.kind == ManifestKey::Kind::table) return filter.wants_table(key.id);
  return key.kind == ManifestKey::Kind::tablet && filter.wants_tablet(key.id);
}

// One change of a manifest entry; manifest_entries.h has the grammar. With options.entries beside
// the bytes.
bool show_change(Reader& in, const DumpOptions& options, Dump& dump) {
  const uint8_t kind = in.u8();
  const uint64_t id = in.varint();
  const uint64_t version = in.varint();
  const bool has_state = in.u8() != 0;
  const Bytes state = has_state ? in.bytes() : Bytes();
  if (!in.ok() || kind > static_cast<uint8_t>(ManifestKey::Kind::audit)) return false;
  const ManifestKey key{static_cast<ManifestKey::Kind>(kind), id};
  const bool shown = wants_key(options.filter, key);
  const auto show = [&](Bytes bytes, const std::string& text) {
    if (shown) dump.entry(0, options.entries ? bytes : Bytes(), text);
  };
  show(state, fmt::format("{} version {}{}", key_text(key), version,
                          version == kAbsent ? ": removed"
                          : has_state        ? ": state"
                                             : ""));
  if (has_state) {
    const auto sentences = describe_state(key, state);
    if (!sentences) return false;
    for (const std::string& sentence : *sentences) show({}, "  " + sentence);
  }
  for (uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    const uint64_t item = in.varint();
    const Bytes value = in.bytes();
    if (!in.ok()) return false;
    const auto text = describe_item(key, item, value);
    if (!text) return false;
    show(value, "  " + *text);
  }
  for (uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    show({}, fmt::format("  item {:016x} removed", in.varint()));
  }
  return in.ok();
}

bool show_manifest_entry(Bytes entry, const DumpOptions& options, Dump& dump) {
  Reader in(entry);
  const uint8_t kind = in.u8();
  if (kind == 2) {
    const uint64_t next_version = in.varint();
    const uint64_t entries = in.varint();
    dump.field(
        0, {},
        fmt::format("end of the snapshot: {} entries, next version {}", entries, next_version));
    return in.ok() && in.at_end();
  }
  if (kind == 3) dump.field(0, {}, fmt::format("edit, next version {}", in.varint()));
  if (kind != 1 && kind != 3) return false;
  for (uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    if (!show_change(in, options, dump)) return false;
  }
  return in.ok() && in.at_end();
}

class RecordDump {
 public:
  RecordDump(File& file, const FileHeader& header, DumpOptions options, Dump& dump)
      : header_(header),
        base_(header.kind == RecordFileKind::log ? header.number * header.file_bytes : 0),
        options_(options),
        dump_(dump),
        scan_(file, header, base_) {}

  Async<Result<void>> run() {
    using Step = RecordFileScan::Step;
    dump_.section(0, kFileHeaderBytes,
                  fmt::format("header: id {:x}, number {}, {} bytes", header_.id, header_.number,
                              header_.file_bytes));
    for (;;) {
      RecordView record;
      switch (scan_.next(record)) {
        case Step::record:
          show(record);
          break;
        case Step::fill:
          CO_TRY_VOID(co_await scan_.fill());
          break;
        case Step::end_of_file:
          if (whole_) tell_part("goes on in the next segment");
          co_return Result<void>();
        case Step::zeros:
        case Step::bad:
          co_return co_await judge_rest();
      }
    }
  }

 private:
  Async<Result<void>> judge_rest() {
    const uint64_t at = scan_.position();
    const uint64_t offset = scan_.offset();
    CO_TRY(const RecordFileScan::Rest rest, co_await scan_.scan_rest());
    if (rest.greatest_mark > at) {
      dump_.problem(
          fmt::format("{} is damaged at {}: everything before position {} was on disk once",
                      scan_.path(), offset, rest.greatest_mark));
    } else if (rest.used_end > at) {
      const std::string words =
          fmt::format("torn tail: {} bytes, cannot be told from damage", rest.used_end - at);
      dump_.section(offset, rest.used_end - at, words);
      dump_.note(fmt::format("{} at {}: {}", scan_.path(), offset, words));
    } else {
      dump_.section(offset, header_.file_bytes - offset, "not written yet");
    }
    co_return Result<void>();
  }

  void show(const RecordView& record) {
    // Filler and marks carry no entry of a manifest, which is read for its entries.
    const bool is_manifest = header_.kind == RecordFileKind::manifest;
    if (is_manifest && record.type != RecordType::data && !options_.entries) return;
    dump_.section(scan_.offset() - record.size(), record.size(),
                  fmt::format("{} record{}{}, durable before {}", type_name(record.type),
                              (record.flags & kFirstFragment) != 0 ? "" : ", continued",
                              (record.flags & kLastFragment) != 0 ? "" : ", to be continued",
                              record.durable_mark));
    if (record.type != RecordType::data) return;
    if ((record.flags & kFirstFragment) != 0) {
      entry_.clear();
      whole_ = true;
    } else if (!whole_) {
      if (std::exchange(told_, true)) return;
      return tell_part("began in the segment before");
    }
    entry_.append(record.payload);
    if ((record.flags & kLastFragment) != 0) show_entry();
  }

  // Whether such an entry passes the filter is not known: a part of it is in another file.
  void tell_part(std::string_view where) {
    if (!options_.filter.active()) return;
    dump_.note(fmt::format("{}: an entry that {} is not shown", scan_.path(), where));
  }

  void show_entry() {
    whole_ = false;
    if (header_.kind == RecordFileKind::manifest) {
      if (!show_manifest_entry(entry_, options_, dump_)) {
        dump_.problem(
            fmt::format("{}: the entry before {} is malformed", scan_.path(), scan_.offset()));
      }
      return;
    }
    const Result<LogEntry> entry = decode_entry(entry_);
    if (!entry) return dump_.problem(entry.error().message);
    if (!options_.filter.wants_tablet(entry->tablet.value())) return;
    std::string head =
        fmt::format("tablet {} epoch {} stamp {}", entry->tablet, entry->epoch, entry->stamp);
    dump_.field(0, Bytes(entry_).substr(0, kLogEntryHeadBytes), head);
    if (!options_.entries) return;
    ShowCommit visitor(options_.filter, std::move(head), dump_);
    if (auto ok = visit_commit(entry->payload, entry->stamp, visitor); !ok) {
      dump_.problem(ok.error().message);
    }
  }

  const FileHeader header_;
  const uint64_t base_;
  const DumpOptions options_;
  Dump& dump_;
  RecordFileScan scan_;
  std::string entry_;
  bool whole_ = false;  // entry_ starts with a first fragment
  bool told_ = false;   // of the entry that began in the segment before
};

}  // namespace

Async<Result<void>> dump_record_file(FileSystem& fs, std::string path, RecordFileKind kind,
                                     DumpOptions options, Dump& dump) {
  CO_TRY(OpenedRecordFile opened, co_await open_record_file(fs, path, kind));
  RecordDump records(*opened.file, opened.header, options, dump);
  Result<void> result = co_await records.run();
  co_return co_await close_after(std::move(opened.file), std::move(result));
}

}  // namespace cellar::engine
