// LocalManifestStore: the manifest of one machine, a log of edits in `manifest/` of a FileSystem.
//
// Invariants
//   1. manifest/CURRENT names a file that holds a whole snapshot. It is switched (one durable
//      rename) only after that file is complete and durable; files it does not name are litter.
//   2. state_ is what a start would load from disk now: an edit is applied here after its records
//      and their closing mark are durable, before it is answered.
//   3. Edits are carried out in the order in which they came. Those that wait while others are
//      written go to disk together, in one write with one closing mark; no two of them name the
//      same subject, so each is judged by the state before them all.
//   4. After a failed write nothing is written any more (poisoned): whether the last edit is on
//      disk is for the next start to find out. The failure listener is told once, whoever made the
//      edit: no shard may take a write that it could never flush.
//   5. The next file needs no space of the disk, for a node must start, and its clock go on, on a
//      full one: beside the file in use a spare of its length is kept. The file before, or what an
//      interrupted start left, becomes the spare. Only where there was never room for one it is
//      missing.
//
// Every start writes a new file, so that no file is ever written by two lives of the process; so
// does an edit that does not fit into what is left of the file.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "engine/store/manifest_file.h"
#include "engine/store/manifest_store.h"
#include "io/loop/event.h"

namespace cellar::engine {

struct ManifestOptions {
  // A file has room for this many times its snapshot in edits, but at least for min_edit_bytes. A
  // restart reads no more than that, and rolling costs no more than a fraction of it.
  uint64_t edits_per_snapshot = 4;
  uint64_t min_edit_bytes = 4u << 20;
  // A disk that is short of space has room for as many edits.
  uint64_t least_edit_bytes = 256u << 10;
};

class LocalManifestStore final : public ManifestStore {
 public:
  // Loads what is there, or begins an empty manifest where nothing is, and starts a new file.
  // DATA_LOSS naming file and offset; FAILED_PRECONDITION for a newer format; in both cases no file
  // was changed. `fs` must outlive the store.
  static Async<Result<std::unique_ptr<LocalManifestStore>>> open(FileSystem& fs,
                                                                 ManifestOptions options);

  // Loads what is there and writes nothing, now or later: every edit is refused with `why`, not
  // applied. NOT_FOUND when there is no manifest.
  static Async<Result<std::unique_ptr<LocalManifestStore>>> open_read_only(FileSystem& fs,
                                                                           Error why);

  Async<Result<std::map<Subject, SubjectState>>> load() override;
  Async<Result<std::vector<uint64_t>>> commit(std::vector<SubjectEdit> edits) override;
  void on_failure(FailureListener listener) override { failure_listener_ = std::move(listener); }
  Async<Result<void>> close() override;

  // Of an edit that was never answered, found at the start.
  uint64_t torn_tail_bytes() const { return torn_tail_bytes_; }
  uint64_t file_number() const { return file_->number(); }

 private:
  // An edit that was not answered yet; lives in the frame of its commit().
  struct Pending {
    std::vector<SubjectEdit> edits;
    Result<std::vector<uint64_t>> outcome;
    bool done = false;
  };
  // Of the edits that are written together; one alone may be longer.
  static constexpr size_t kGroupBytes = 1u << 20;
  // While the spare is too short it is tried again after as many groups of edits.
  static constexpr uint64_t kSpareRetryGroups = 16;

  LocalManifestStore(FileSystem& fs, ManifestOptions options) : fs_(fs), options_(options) {}

  Async<Result<void>> start();
  Async<Result<void>> load_current();
  // Writes the state to a new file with room for an edit of extra_bytes and makes it current.
  Async<Result<void>> roll(uint64_t extra_bytes);
  // Carries out the edits at the head of the queue, as many as go together.
  Async<void> write_group();
  Async<Result<void>> write_entries(const std::vector<std::string>& entries);
  Async<Result<std::unique_ptr<ManifestFile>>> create_file(uint64_t number, uint64_t least_bytes,
                                                           uint64_t wanted_bytes);
  // Of the files that are not in use one becomes the spare, if there is none; others are removed.
  Async<void> tidy();
  // Makes the spare as long as the file in use, if the disk has the room.
  Async<void> extend_spare(uint64_t to_bytes);
  Result<void> check(const std::vector<SubjectEdit>& edits) const;
  std::unexpected<Error> poison(const Error& cause);

  FileSystem& fs_;
  const ManifestOptions options_;
  ManifestState state_;
  std::unique_ptr<ManifestFile> file_;
  uint64_t loaded_number_ = 0;  // of the file that is true, until file_ is there; 0: none
  uint64_t greatest_number_ = 0;
  uint64_t spare_bytes_ = 0;
  uint64_t edits_without_spare_ = 0;
  uint64_t torn_tail_bytes_ = 0;
  std::optional<Error> failure_;
  FailureListener failure_listener_;
  std::deque<Pending*> queue_;
  AsyncMutex mutex_;
  bool closed_ = false;
};

}  // namespace cellar::engine
