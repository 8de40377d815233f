// BlockLoader: loads blocks from the device into the cache of one shard.
//
// A load is one device read of one or more contiguous blocks. All blocks in flight are known, so a
// second reader of a block joins the first one's load. Each block is verified and unpacked
// separately when the read is done: damage in one does not affect the others. Failures are not
// remembered: the next request reads the device again.
//
// Large loads are serialised, because each holds its block twice, packed and unpacked, and a scan
// over large cells wants one of every run at once.
//
// A waiter has a PendingBlock, which must not be destroyed while its load is in progress.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "engine/iter/entry_iterator.h"
#include "engine/sstable/block_cache.h"
#include "engine/sstable/format.h"
#include "engine/sstable/zstd_codec.h"
#include "engine/store/blob_store.h"
#include "io/loop/event.h"

namespace cellar::engine {

// CountedBlob: an open blob shared by a table and the reads that outlive it. One shard.
class CountedBlob final
    : public boost::intrusive_ref_counter<CountedBlob, boost::thread_unsafe_counter> {
 public:
  using Ref = boost::intrusive_ptr<CountedBlob>;

  explicit CountedBlob(std::unique_ptr<Blob> blob) : blob_(std::move(blob)) {}
  Blob& operator*() const { return *blob_; }
  Blob* operator->() const { return blob_.get(); }

 private:
  const std::unique_ptr<Blob> blob_;
};

class BlockLoad;

// Whether a loaded block is kept in the cache.
enum class CacheUse : uint8_t {
  keep,  // reads
  pass,  // compaction and verification: their blocks are not cached
};

struct PendingBlock {
  PendingBlock() = default;
  PendingBlock(const PendingBlock&) = delete;
  PendingBlock& operator=(const PendingBlock&) = delete;
  ~PendingBlock();  // CHECKs that no load is in progress

  // Results: the wanted block and further blocks loaded with it; or an error.
  std::vector<BlockRef> blocks;
  std::optional<Error> error;

  // Used by the loader.
  BlockWaiter* waiter = nullptr;
  Blob* blob = nullptr;
  BlockHandle handle;
  IoClass io_class = IoClass::read;
  CacheUse use = CacheUse::keep;
  bool under_way = false;
};

class BlockLoader {
 public:
  // Both must outlive it.
  BlockLoader(ShardExecutor executor, BlockCache& cache);
  ~BlockLoader();  // REQUIRES: no load in progress
  BlockLoader(const BlockLoader&) = delete;
  BlockLoader& operator=(const BlockLoader&) = delete;

  BlockCache& cache() { return cache_; }
  // Resumes when no load is in progress: read-ahead outlives its iterators.
  Async<void> idle();

  // Wants run[0]; the contiguous rest of `run` is read with it as far as it is neither cached nor
  // in flight. The waiter is called from the loop, never inside this call.
  void start(Blob& blob, std::span<const BlockHandle> run, IoClass io_class, CacheUse use,
             PendingBlock& pending, BlockWaiter& waiter);

  // Sets the dictionary for blocks of a blob in loads started from now on; each add needs one
  // remove.
  void add_dictionary(BlobId blob, Bytes dictionary);
  void remove_dictionary(BlobId blob);

  static constexpr uint64_t kLargeBytes = 1u << 20;

  struct Stats {
    uint64_t reads = 0;        // device reads
    uint64_t read_blocks = 0;  // blocks in these reads
    uint64_t read_bytes = 0;
    uint64_t joined = 0;   // requests that joined a load in flight
    uint64_t damaged = 0;  // damaged blocks
    uint64_t failed = 0;   // device reads that failed
  };
  const Stats& stats() const { return stats_; }

 private:
  friend class BlockLoad;

  // Reference counted: loads that outlive the table hold it too.
  struct Dictionary : boost::intrusive_ref_counter<Dictionary, boost::thread_unsafe_counter> {
    std::string bytes;
    size_t users = 0;
  };
  using DictionaryRef = boost::intrusive_ptr<Dictionary>;
  // Null: the blob has no dictionary.
  DictionaryRef dictionary_of(BlobId blob) const;
  void submit(Blob& blob, std::span<const BlockHandle> run, DictionaryRef dictionary,
              PendingBlock& pending);
  void finished(BlockLoad& load);
  void next_large();
  // A block and its stored form, which points into the read buffer.
  struct Unpacked {
    BlockRef block;
    CheckedBlock stored;
  };
  void complete(BlockLoad& load, std::vector<Result<Unpacked>> blocks);
  void retry_alone(BlockLoad& load);
  Result<Unpacked> unpack(const BlockLoad& load, const BlockHandle& handle);
  ZstdUnpacker& zstd();
  void tell(PendingBlock& pending);
  bool is_idle() const { return under_way_.empty() && tells_under_way_ == 0; }
  static Async<void> tell_later(BlockLoader& loader, PendingBlock& pending);

  ShardExecutor executor_;
  BlockCache& cache_;
  absl::flat_hash_map<BlockKey, BlockLoad*> under_way_;
  bool large_under_way_ = false;
  std::deque<std::unique_ptr<BlockLoad>> large_;  // large loads waiting for their turn
  size_t tells_under_way_ = 0;
  ConditionVariable became_idle_;
  absl::flat_hash_map<BlobId, DictionaryRef> dictionaries_;
  std::unique_ptr<ZstdUnpacker>
      zstd_;  // made for the first block that needs it; charged to the cache
  Stats stats_;
};

}  // namespace cellar::engine
