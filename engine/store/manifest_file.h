// One manifest file: a record file (engine/record) of fixed size that begins with a snapshot and
// goes on with edits.
//
//   manifest/<n>.manifest   8 hexadecimal digits
//   manifest/CURRENT        text: which of them is true, with a checksum
//   manifest/CURRENT.old    the one before, kept for its block; the true one between two renames,
//                           when there is no CURRENT
//   manifest/spare          space for the next file, of no content
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/record/record.h"
#include "engine/store/manifest_entries.h"
#include "io/disk/file.h"

namespace cellar::engine {

inline constexpr std::string_view kManifestDirectory = "manifest";
inline constexpr std::string_view kCurrentPath = "manifest/CURRENT";
inline constexpr std::string_view kPreviousPath = "manifest/CURRENT.old";
inline constexpr std::string_view kSpareManifestPath = "manifest/spare";

std::string manifest_path(uint64_t number);
// Of a name within kManifestDirectory, such as "0000000c.manifest".
std::optional<uint64_t> parse_manifest_name(std::string_view name);
std::string encode_current(uint64_t number);
// DATA_LOSS when damaged.
Result<uint64_t> decode_current(Bytes content);
// The file that is true; none where there is no manifest. Of a crash between the two renames of
// write_current() it reads the pointer that was true before. DATA_LOSS when damaged.
Async<Result<std::optional<uint64_t>>> read_current(FileSystem& fs);
// Ends a switch that a crash cut short between its renames: nothing was switched.
Async<Result<void>> settle_current(FileSystem& fs);
// Makes CURRENT.old, naming no file, where there is none yet, if the disk has the room.
Async<void> keep_pointer(FileSystem& fs);
// What became of write_current().
enum class Switched : uint8_t { yes, no, maybe };
struct SwitchOutcome {
  Switched switched = Switched::yes;
  std::optional<Error> error;  // unless yes
};
// Makes file `number` the true one, durably. The pointer that was true before is kept beside it and
// overwritten by the next switch, so that a full disk does not hinder one.
Async<SwitchOutcome> write_current(FileSystem& fs, uint64_t number);

// The one being written. One writer at a time.
//
// Every write is followed by a mark record that is durable before write() answers, so damage to
// anything that was answered is always told from a torn tail.
class ManifestFile {
 public:
  static constexpr size_t kBatchBytes = 256u << 10;

  // With a `spare`, in the space of that file (record_file.h).
  static Async<Result<std::unique_ptr<ManifestFile>>> create(FileSystem& fs, uint64_t number,
                                                             uint64_t file_bytes,
                                                             std::optional<std::string> spare);
  // What `payload_bytes` in `entries` entries take at most, written at once.
  static uint64_t cost(uint64_t payload_bytes, uint64_t entries);

  uint64_t number() const { return number_; }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t room() const { return file_bytes_ - position_; }
  // Everything in one write, or several when it is long. After an error nothing may be written any
  // more. REQUIRES: cost() <= room().
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
  uint64_t position_ = 0;  // where the next batch goes; everything before is durable
};

struct LoadedManifest {
  ManifestState state;
  uint64_t edits = 0;            // beyond the snapshot
  uint64_t torn_tail_bytes = 0;  // of an edit that was never answered
};
// DATA_LOSS naming file and offset; FAILED_PRECONDITION for a newer format. A state that is not
// complete is the caller's to judge.
Async<Result<LoadedManifest>> load_manifest(FileSystem& fs, uint64_t number);

}  // namespace cellar::engine
