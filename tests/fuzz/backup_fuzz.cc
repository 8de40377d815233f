// A directory of backups that was changed: files are edited, cut, lengthened, exchanged, missing or
// additional, with or without checksums that fit. A node lists, verifies, restores and prunes it:
// it returns errors or tables, keeps what it has, and opens again.
#include "engine/backup/backup.h"
#include "engine/backup/backup_file.h"
#include "io/base/check.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/test_node.h"

namespace cellar::fuzz {
namespace {

using engine::BackupProgress;
using support::TestNode;

constexpr uint8_t kChecksummed = 1;  // bits of the first byte: checksums of backups fit
constexpr uint8_t kMeasured = 2;     // sizes and checksums of their blobs fit too
constexpr size_t kEditBytes = 5;
constexpr size_t kMostEdits = 16;

template <class T>
T run(TestNode& node, Async<T> work) {
  return node.world().block_on(node.loop(0), std::move(work));
}

// The directory, as a node's home shard accesses it.
class Directory {
 public:
  Directory(TestNode& node, MemDisk& disk)
      : fs_(node.loop(0).executor(), disk), store_(engine::make_local_backup_store(fs_)) {}
  engine::BackupStore& operator*() { return *store_; }

 private:
  MemFs fs_;
  std::unique_ptr<engine::BackupStore> store_;
};

// What every input starts from: two backups, and the directory of a node that restores them.
struct Template {
  MemDisk backups;
  size_t files = 0;
  std::unique_ptr<MemDisk> data;
};

void back_up(TestNode& node, MemDisk& disk, std::string name) {
  Directory there(node, disk);
  BackupProgress progress;
  const auto taken =
      run(node, node.node().back_up(ShardId{0}, *there,
                                    {std::move(name), {}, std::string(32, 'a'), "1"}, progress));
  CHECK(taken, "no backup: {}", taken.error().message);
}

Template* make_template() {
  auto* made = new Template;
  TestNode node;
  const auto set = [&node](const std::string& table, const std::string& row) {
    CHECK(node.set(table, row, "f:q", 1000, "value of " + row));
  };
  for (const char* table : {"t", "kept"}) CHECK(node.create_table(table, {"f", "g"}, {"m"}));
  set("kept", "row");
  set("t", "a");
  back_up(node, made->backups, "first");
  set("t", "z");
  CHECK(node.drop_rows("t", "b", "c"));
  back_up(node, made->backups, "second");
  made->files = made->backups.all_files().size();
  CHECK(node.close());
  made->data = node.disk().clone();
  return made;
}

const Template& made() {
  static const Template* const kMade = make_template();
  return *kMade;
}

// An edit: file, operation, position (two bytes), operand.
void apply(Bytes edit, MemDisk& disk) {
  const auto at = [edit](size_t i) { return static_cast<uint8_t>(edit[i]); };
  const std::vector<std::string> paths = disk.all_files();
  if (paths.empty()) return;
  const std::string& path = paths[at(0) % paths.size()];
  std::string content = *disk.read_all(path);
  const size_t place = (at(2) | size_t{at(3)} << 8) % (content.size() + 1);
  switch (at(1) % 7) {
    case 0:
      if (place < content.size()) content[place] = edit[4];
      break;
    case 1:
      if (place < content.size()) content[place] = static_cast<char>(content[place] + edit[4]);
      break;
    case 2:
      content.resize(place);
      break;
    case 3:
      content.insert(place, at(4), edit[4]);
      break;
    case 4:
      content = *disk.read_all(paths[at(4) % paths.size()]);
      break;
    case 5:
      CHECK(disk.write_all(
          path.substr(0, path.find('/') + 1) + "more" + path.substr(path.size() - 4), content));
      return;
    default:
      CHECK(disk.remove(path));
      return;
  }
  CHECK(disk.write_all(path, content));
}

void fit_checksum(std::string& content) {
  constexpr size_t kChecksumAt = 12;
  constexpr size_t kHeadBytes = kChecksumAt + sizeof(uint32_t);
  if (content.size() < kHeadBytes) return;
  const Bytes head = Bytes(content).substr(0, kChecksumAt);
  store_le(content.data() + kChecksumAt, crc32c(Bytes(content).substr(kHeadBytes), crc32c(head)));
}

// The backup says of its blobs what they are now.
void measure(std::string& content, const MemDisk& disk) {
  auto file = engine::decode_backup(content, "a backup");
  if (!file) return;
  for (engine::BackupBlob& blob : file->blobs) {
    const auto bytes = disk.read_all(fmt::format("blob/{:016x}.sst", blob.id.value()));
    if (!bytes) continue;
    blob.bytes = bytes->size();
    blob.crc = crc32c(*bytes);
  }
  content = engine::encode_backup(*file);
}

void make_right(uint8_t how, MemDisk& disk) {
  for (const std::string& path : disk.all_files()) {
    if (!path.ends_with(".backup")) continue;
    std::string content = *disk.read_all(path);
    if (how & kChecksummed) fit_checksum(content);
    if (how & kMeasured) measure(content, disk);
    CHECK(disk.write_all(path, content));
  }
}

// Whether all is well with the backup.
bool use(TestNode& node, Directory& there, const std::string& name) {
  BackupProgress verifying;
  const auto verified = run(node, engine::verify_backup(*there, name, node.loop(0).timers(),
                                                        node.loop(0).executor(), verifying));
  BackupProgress restoring;
  const auto restored =
      run(node, node.node().restore_backup(ShardId{0}, *there, {name, "t", "copy_" + name},
                                           node.author, restoring));
  CHECK(!verified || restored || restored.error().code != Errc::data_loss,
        "verified, and damaged for a restore: {}", restored.error().message);
  if (!restored) return false;
  ReadSpec all;
  all.rows.add({});
  all.rows.normalize();
  const auto read = node.read("copy_" + name, all);
  CHECK(!verified || read, "verified, restored and not readable: {}", read.error().message);
  return verified && read;
}

// A byte says how, the rest are edits.
void fuzz_backup(Bytes input) {
  if (input.empty()) return;
  const Template& from = made();
  const auto how = static_cast<uint8_t>(input.front());
  input.remove_prefix(1);
  const bool edited = input.size() >= kEditBytes;
  const std::unique_ptr<MemDisk> disk = from.backups.clone();
  for (size_t i = 0; i < kMostEdits && input.size() >= kEditBytes; ++i) {
    apply(input.substr(0, kEditBytes), *disk);
    input.remove_prefix(kEditBytes);
  }
  make_right(how, *disk);
  TestNode node({}, from.data->clone());
  CHECK(node.is_open());
  const auto kept = node.cells("kept");
  {
    Directory there(node, *disk);
    (void)run(node, engine::list_backups(*there));
    const bool first = use(node, there, "first");
    const bool second = use(node, there, "second");
    CHECK(edited || (first && second), "backups as they were taken are refused");
    (void)run(node, engine::prune_backups(*there, 1));
    const auto left = run(node, engine::list_backups(*there));
    CHECK(edited || (left && left->size() == 1), "nothing was pruned");
  }
  CHECK(node.close());
  const Result<void> opened = node.reopen();
  CHECK(opened, "the node does not open after a restore: {}", opened.error().message);
  CHECK(node.cells("kept") == kept, "a restore changed another table");
}

std::string edit(uint8_t file, uint8_t operation, uint16_t place, uint8_t operand) {
  return {static_cast<char>(file), static_cast<char>(operation), static_cast<char>(place),
          static_cast<char>(place >> 8), static_cast<char>(operand)};
}

std::vector<std::string> backup_seeds() {
  std::vector<std::string> seeds = {std::string(1, '\0')};
  const auto files = static_cast<uint8_t>(made().files);
  for (uint8_t file = 0; file < files; ++file) {
    for (uint8_t operation = 0; operation < 7; ++operation) {
      seeds.push_back(std::string(1, static_cast<char>(operation % 4)) +
                      edit(file, operation, static_cast<uint16_t>(40 + 9 * operation), 3));
    }
  }
  const std::string right(1, static_cast<char>(kChecksummed | kMeasured));
  seeds.push_back(right + edit(0, 4, 0, 1) + edit(1, 6, 0, 0) + edit(2, 1, 100, 1));
  return seeds;
}

}  // namespace

const FuzzTarget kBackupTarget = {"backup", &fuzz_backup, &backup_seeds};

}  // namespace cellar::fuzz
