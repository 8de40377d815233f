// A manifest file: a record file (engine/record) of fixed size that starts with a snapshot followed
// by edits.
//
//   manifest/<n>.manifest   8 hexadecimal digits
//   manifest/CURRENT        text: the number of the valid file, with a checksum
//   manifest/CURRENT.old    the previous pointer, kept for its block; valid between two renames,
//                           when there is no CURRENT
//   manifest/spare          space for the next file, without content
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/record/record.h"
#include "engine/store/manifest/manifest_entries.h"
#include "io/disk/file.h"

namespace cellar::engine {

inline constexpr std::string_view kManifestDirectory = "manifest";
inline constexpr std::string_view kCurrentPath = "manifest/CURRENT";
inline constexpr std::string_view kPreviousPath = "manifest/CURRENT.old";
inline constexpr std::string_view kSpareManifestPath = "manifest/spare";

std::string manifest_path(uint64_t number);
// `name` is relative to kManifestDirectory, such as "0000000c.manifest".
std::optional<uint64_t> parse_manifest_name(std::string_view name);
std::string encode_current(uint64_t number);
// DATA_LOSS if damaged.
Result<uint64_t> decode_current(Bytes content);
// The number of the valid file; empty if there is no manifest. After a crash between the two
// renames of write_current() it returns the previous one. DATA_LOSS if damaged.
Async<Result<std::optional<uint64_t>>> read_current(FileSystem& fs);
// Cleans up a switch that a crash interrupted between its renames: nothing was switched.
Async<Result<void>> recover_current(FileSystem& fs);
// Creates CURRENT.old, naming no file, if it does not exist and the disk has room.
Async<void> keep_pointer(FileSystem& fs);
// The outcome of write_current().
enum class Switched : uint8_t { yes, no, maybe };
struct SwitchOutcome {
  Switched switched = Switched::yes;
  std::optional<Error> error;  // unless yes
};
// Durably makes file `number` the valid one. The previous pointer is kept beside it and overwritten
// by the next switch, so that a switch works on a full disk.
Async<SwitchOutcome> write_current(FileSystem& fs, uint64_t number);

// The file being written. One writer at a time.
//
// Every write is followed by a mark record that is durable before write() returns, so damage to an
// answered edit can always be told from a torn tail.
class ManifestFile {
 public:
  static constexpr size_t kBatchBytes = 256u << 10;

  // With a `spare`, uses the space of that file (record_file.h).
  static Async<Result<std::unique_ptr<ManifestFile>>> create(FileSystem& fs, uint64_t number,
                                                             uint64_t file_bytes,
                                                             std::optional<std::string> spare);
  // Upper bound of the size of `payload_bytes` in `entries` entries, written at once.
  static uint64_t cost(uint64_t payload_bytes, uint64_t entries);

  uint64_t number() const { return number_; }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t room() const { return file_bytes_ - position_; }
  // Writes all entries in one write, or several if they are long. After an error nothing may be
  // written. REQUIRES: cost() <= room().
  Async<Result<void>> write(const std::vector<std::string>& entries);
  Async<Result<void>> close() { return file_->close(); }

 private:
  ManifestFile(std::unique_ptr<File> file, uint64_t number, uint64_t file_bytes);
  BatchBuilder new_batch(uint64_t position) const;
  std::vector<BatchBuilder> build(const std::vector<std::string>& entries) const;
  Async<Result<void>> write_batch(BatchBuilder& batch);

  std::unique_ptr<File> file_;
  const uint64_t number_;
  const uint64_t file_bytes_;
  uint64_t position_ = 0;  // position of the next batch; everything before it is durable
};

struct LoadedManifest {
  ManifestState state;
  uint64_t edits = 0;            // entries after the snapshot
  uint64_t torn_tail_bytes = 0;  // bytes of an unanswered edit
};
// DATA_LOSS with file and offset; FAILED_PRECONDITION for another format. The caller checks whether
// the state is complete.
Async<Result<LoadedManifest>> load_manifest(FileSystem& fs, uint64_t number);

}  // namespace cellar::engine
