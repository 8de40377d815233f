// LocalManifestStore: the manifest of one machine, a log of edits in `manifest/` of a FileSystem.
//
// Invariants
//   1. manifest/CURRENT names a file with a complete snapshot. It is switched (one durable rename)
//      only after that file is complete and durable; files it does not name are garbage.
//   2. state_ is what a start would load from disk now: an edit is applied here after its records
//      and their closing mark are durable, and before it is answered.
//   3. Edits are processed in order of arrival. Edits that wait during a write go to disk together,
//      in one write with one closing mark; no two of them name the same key, so each is checked
//      against the state before all of them.
//   4. After a failed write nothing is written any more (poisoned): the next start finds out
//      whether the last edit is on disk. The failure listener is called once, whichever caller made
//      the edit: no shard may accept a write that it could never flush.
//   5. The next file needs no free disk space, because a node must start, and its clock advance, on
//      a full disk: a spare file of the same length is kept. The previous file, or what an
//      interrupted start left, becomes the spare. It is missing only if there was never room for
//      it.
//
// Every start writes a new file, so that no file is written by two processes; so does an edit that
// does not fit into the rest of the file.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/store/manifest/manifest_file.h"
#include "engine/store/manifest_store.h"
#include "io/loop/event.h"

namespace cellar::engine {

struct ManifestOptions {
  // A file has room for this many times its snapshot in edits, at least min_edit_bytes. This bounds
  // what a restart reads and the relative cost of a roll.
  uint64_t edits_per_snapshot = 4;
  uint64_t min_edit_bytes = 4u << 20;
  // Room for edits on a disk that is short of space.
  uint64_t least_edit_bytes = 256u << 10;
};

class LocalManifestStore final : public ManifestStore {
 public:
  // Loads the manifest, or creates an empty one, and starts a new file. DATA_LOSS with file and
  // offset; FAILED_PRECONDITION for another format; in both cases no file was changed. `fs` must
  // outlive the store.
  static Async<Result<std::unique_ptr<LocalManifestStore>>> open(FileSystem& fs,
                                                                 ManifestOptions options);

  // Loads the manifest and never writes: every edit is refused with `why`, not applied. NOT_FOUND
  // if there is no manifest.
  static Async<Result<std::unique_ptr<LocalManifestStore>>> open_read_only(FileSystem& fs,
                                                                           Error why);

  bool has_all_tablets() const override { return true; }
  // After a failed write nothing can be told before the next start.
  bool reads_outcomes_back() const override { return false; }
  Async<Result<std::map<ManifestKey, ManifestEntry>>> load() override;
  Async<Result<Versions>> commit(TabletEdit edit) override { return commit_checked(edit); }
  Async<Result<Versions>> commit(ReshapeEdit edit) override { return commit_checked(edit); }
  Async<Result<Versions>> commit(CatalogEdit edit) override { return commit_checked(edit); }
  void on_failure(FailureListener listener) override { failure_listener_ = std::move(listener); }
  Async<Result<void>> close() override;

  // Bytes of an unanswered edit found at the start.
  uint64_t torn_tail_bytes() const { return torn_tail_bytes_; }
  uint64_t file_number() const { return file_->number(); }

 private:
  // An edit not yet answered; lives in the frame of its commit().
  struct Pending {
    std::vector<VersionEdit> changes;
    Result<Versions> outcome;
    bool done = false;
  };
  // Size of edits written together; a single edit may be larger.
  static constexpr size_t kGroupBytes = 1u << 20;
  // A spare that is too short is extended again after this many groups of edits.
  static constexpr uint64_t kSpareRetryGroups = 16;

  LocalManifestStore(FileSystem& fs, ManifestOptions options) : fs_(fs), options_(options) {}

  // All kinds are written alike, each as a whole.
  template <class Edit>
  Async<Result<Versions>> commit_checked(Edit& edit) {
    const bool allowed = std::ranges::all_of(edit.changes, Edit::allows);
    return write(std::move(edit.changes), allowed);
  }
  Async<Result<Versions>> write(std::vector<VersionEdit> changes, bool allowed);
  Async<Result<void>> start();
  Async<Result<void>> load_current();
  // Writes the state to a new file with room for an edit of `extra_bytes` and makes it current.
  Async<Result<void>> roll(uint64_t extra_bytes);
  // Processes as many edits from the head of the queue as can be written together.
  Async<void> write_group();
  Async<Result<void>> write_entries(const std::vector<std::string>& entries);
  Async<Result<std::unique_ptr<ManifestFile>>> create_file(uint64_t number, uint64_t least_bytes,
                                                           uint64_t wanted_bytes);
  // Keeps one unused file as the spare if there is none; removes the others.
  Async<void> tidy();
  // Extends the spare to the length of the file in use, if the disk has room.
  Async<void> extend_spare(uint64_t to_bytes);
  Result<void> check(const std::vector<VersionEdit>& changes) const;
  std::unexpected<Error> poison(const Error& cause);

  FileSystem& fs_;
  const ManifestOptions options_;
  ManifestState state_;
  std::unique_ptr<ManifestFile> file_;
  uint64_t loaded_number_ = 0;  // file loaded at the start, until file_ exists; 0: none
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
