// Logs and manifests of valid records in orders that no writer produces: the input determines their
// contents, and the checksums are made to match. Readers return an error or entries; the entries
// are decoded as recovery does.
#include "engine/catalog/catalog.h"
#include "engine/manifest/states.h"
#include "engine/manifest/table_state.h"
#include "engine/model/mutation.h"
#include "engine/record/file_header.h"
#include "engine/store/log/local_log.h"
#include "engine/store/log/local_log_store.h"
#include "engine/store/manifest/local_manifest_store.h"
#include "engine/store/manifest/manifest_entries.h"
#include "engine/store/manifest/manifest_file.h"
#include "io/base/coding.h"
#include "tests/engine/store/store_rig.h"
#include "tests/fuzz/fuzz_target.h"

namespace cellar::fuzz {

using namespace engine;  // NOLINT(google-build-using-namespace): nearly every name here is its

namespace {

constexpr uint64_t kSegmentBytes = 32u << 10;
constexpr uint64_t kManifest = 1;
constexpr size_t kMostPayload = 300;

// Records from the input, each with a type, flags, a mark, a length and a payload; those that do
// not fit are omitted. A record of type 7 begins a batch, as does the first one.
std::string records(Bytes input, RecordFileKind kind, uint64_t id, uint64_t number) {
  const uint64_t base = number * kSegmentBytes;
  const AlignedBuffer head = encode_file_header(FileHeader{kind, id, number, kSegmentBytes, {}});
  std::string file(head.bytes(0, head.size()));
  const auto new_batch = [&] {
    const uint64_t left = kSegmentBytes - file.size();
    return BatchBuilder(AlignedBuffer(kSegmentBytes), left, record_owner(kind, id),
                        base + file.size());
  };
  const auto close = [&file](BatchBuilder& full, uint64_t mark) {
    if (full.empty()) return;
    full.close(mark);
    file.append(as_bytes_view(full.contents()));
  };
  BatchBuilder batch = new_batch();
  while (input.size() >= 5) {
    const auto at = [&input](size_t i) { return static_cast<uint8_t>(input[i]); };
    const uint8_t type = at(0) % 8;
    const uint8_t flags = at(1);
    const uint64_t mark = uint64_t{at(2)} * kSegmentBytes / 64;
    const size_t size = std::min<size_t>(
        {(at(3) | size_t{at(4)} << 8) % kMostPayload, input.size() - 5, batch.room()});
    const Bytes payload = input.substr(5, size);
    input.remove_prefix(5 + size);
    if (type == 7) {
      close(batch, mark);
      if (file.size() == kSegmentBytes) return file;
      batch = new_batch();
    }
    if (batch.room() > size)
      batch.add(static_cast<RecordType>(type), flags, mark, payload, Bytes());
  }
  close(batch, 0);
  file.resize(kSegmentBytes);
  return file;
}

class Commits final : public LogVisitor, public CommitVisitor {
 public:
  Result<void> entry(const LogEntry& entry, LogPosition) override {
    return visit_commit(entry.payload, entry.stamp, *this);
  }
  void entry(Bytes key, Bytes value) override { seen_ += key.size() + value.size(); }
  void range_delete(const RangeDelete& range, CommitStamp) override { seen_ += range.end.size(); }

 private:
  size_t seen_ = 0;
};

void put(MemDisk& disk, std::string_view directory, const std::string& path, Bytes content) {
  if (!disk.list(directory)) CHECK(disk.create_dir(directory));
  CHECK(disk.write_all(path, content));
}

// The second segment begins at the first 0xff of the input; without one there is no second segment.
void read_log(Bytes input) {
  MemDisk disk;
  const size_t half = std::min(input.find('\xff'), input.size());
  const uint64_t id = kLog.value();
  put(disk, kLogDirectory, segment_path(kLog, 0),
      records(input.substr(0, half), RecordFileKind::log, id, 0));
  if (half < input.size()) {
    put(disk, kLogDirectory, segment_path(kLog, 1),
        records(input.substr(half + 1), RecordFileKind::log, id, 1));
  }
  for (const uint64_t from : {uint64_t{0}, kSegmentBytes / 2, kSegmentBytes}) {
    StoreRig rig(disk);
    LogOptions options;
    options.segment_bytes = kSegmentBytes;
    options.batch_bytes = 8u << 10;
    LocalLogStore store(*rig.fs, rig.runtime, options);
    Commits commits;
    (void)rig.run(store.read(kLog, LogPosition{from}, commits));
  }
}

void read_manifest(Bytes input) {
  MemDisk disk;
  put(disk, kManifestDirectory, manifest_path(kManifest),
      records(input, RecordFileKind::manifest, kManifest, 0));
  StoreRig rig(disk);
  const auto loaded = rig.run(load_manifest(*rig.fs, kManifest));
  if (loaded) (void)decode_manifest(loaded->state.entries);
}

void fuzz_log(Bytes input) {
  const Choice choice = choose(input, 2);
  (choice.number == 0 ? read_log : read_manifest)(choice.rest);
}

std::string record(RecordType type, uint8_t flags, uint8_t mark, Bytes payload) {
  std::string out{static_cast<char>(type), static_cast<char>(flags), static_cast<char>(mark)};
  put_u16(out, static_cast<uint16_t>(payload.size()));
  return out.append(payload);
}

std::string log_seed(bool of_fragments) {
  Mutation set;
  set.family = "f";
  set.qualifier = "q";
  set.value = "value";
  set.timestamp_us = 1000;
  std::string commit;
  encode_row_commit(commit, "row", {&set, 1});
  const auto head = encode_entry_head(entry_of(1, commit));
  const std::string entry = std::string(head.data(), head.size()) + commit;
  std::string trim;
  put_u64(trim, kSegmentBytes);
  if (!of_fragments) {
    return record(RecordType::data, kWhole, 0, entry) + record(RecordType::mark, kWhole, 9, "") +
           record(RecordType::trim, kWhole, 9, trim) + record(RecordType::seal, kWhole, 9, "");
  }
  return record(RecordType::data, kFirstFragment, 0, entry.substr(0, 20)) + "\xff" +
         record(RecordType::data, kLastFragment, 0, entry.substr(20));
}

std::string manifest_seed() {
  ManifestState state;
  state.next_version = 5;
  state.entries[kNodeKey] = {.version = 1, .state = encode_node_state({}), .items = {}};
  TableSchema schema;
  schema.id = TableId{3};
  schema.name = "t";
  TabletState tablet;
  tablet.table = TableId{3};
  state.entries[key_of(TableId{3})] = {
      .version = 2, .state = encode_table_state(schema, std::nullopt), .items = {}};
  state.entries[key_of(TabletId{4})] = {
      .version = 3, .state = encode_tablet_state(tablet), .items = {}};
  std::string out;
  for (const std::string& entry : encode_snapshot(state))
    out += record(RecordType::data, kWhole, 0, entry);
  const auto edit = put_state(kNodeKey, 1, encode_node_state({}));
  return out + record(RecordType::data, kWhole, 0, encode_edit({edit}, {5}, 6));
}

std::vector<std::string> log_seeds() {
  return {chosen(0, log_seed(false)), chosen(0, log_seed(true)), chosen(1, manifest_seed())};
}

}  // namespace

const FuzzTarget kLogTarget = {"log", &fuzz_log, &log_seeds};

}  // namespace cellar::fuzz
