// BlockLoader: brings blocks from the device into the cache of one shard.
//
// A load is one device read of one or more blocks that lie back to back. Every block that is on its
// way is known, so that a second reader who wants it joins the first one's load. Each block is
// verified and unpacked by itself when the read is done: damage in one does not hide the others.
// Nothing that failed is remembered: the next want asks the device again.
//
// Large loads go one after the other: each holds its block twice, packed and unpacked, until it is
// told, and a scan over large cells wants one of every run at once.
//
// Who waits holds a BlockTicket, which must not be destroyed while its load is under way.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <memory>
#include <optional>
#include <span>
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

class BlockLoad;

// Who may keep a loaded block in the cache.
enum class CacheUse : uint8_t {
  keep,  // reads
  pass,  // compaction and verification: what they load is theirs alone
};

struct BlockTicket {
  BlockTicket() = default;
  BlockTicket(const BlockTicket&) = delete;
  BlockTicket& operator=(const BlockTicket&) = delete;
  ~BlockTicket();  // CHECKs that no load is under way

  // Results: the wanted block and those behind it that came along; or why there is none.
  std::vector<BlockRef> blocks;
  std::optional<Error> error;

  // Of the loader.
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
  ~BlockLoader();  // REQUIRES: no load under way
  BlockLoader(const BlockLoader&) = delete;
  BlockLoader& operator=(const BlockLoader&) = delete;

  BlockCache& cache() { return cache_; }
  // Resumes when no load is under way: reads ahead outlast those who started them.
  Async<void> idle();

  // Wants run[0]; the rest of `run`, back to back, is read along as far as it is neither cached nor
  // on its way. The waiter is told from the loop, never inside this call.
  void start(Blob& blob, std::span<const BlockHandle> run, IoClass io_class, CacheUse use,
             BlockTicket& ticket, BlockWaiter& waiter);

  // What blocks of a blob are unpacked with, in loads that start from now on; as often as it is
  // added it must be removed.
  void add_dictionary(BlobId blob, Bytes dictionary);
  void remove_dictionary(BlobId blob);

  static constexpr uint64_t kLargeBytes = 1u << 20;

  struct Stats {
    uint64_t reads = 0;        // of the device
    uint64_t read_blocks = 0;  // in them
    uint64_t read_bytes = 0;
    uint64_t joined = 0;   // wants that found their block on its way
    uint64_t damaged = 0;  // blocks whose bytes were wrong
    uint64_t failed = 0;   // device reads that failed
  };
  const Stats& stats() const { return stats_; }

 private:
  friend class BlockLoad;

  // Counted: loads that outlast the table hold it, too.
  struct Dictionary : boost::intrusive_ref_counter<Dictionary, boost::thread_unsafe_counter> {
    std::string bytes;
    size_t users = 0;
  };
  using DictionaryRef = boost::intrusive_ptr<Dictionary>;
  // Null: its blocks need none.
  DictionaryRef dictionary_of(BlobId blob) const;
  void submit(Blob& blob, std::span<const BlockHandle> run, DictionaryRef dictionary,
              BlockTicket& ticket);
  void finished(BlockLoad& load);
  void next_large();
  // A block, and what it was unpacked from: bytes of the read.
  struct Unpacked {
    BlockRef block;
    CheckedBlock stored;
  };
  void settle(BlockLoad& load, std::vector<Result<Unpacked>> blocks);
  void retry_alone(BlockLoad& load);
  Result<Unpacked> unpack(const BlockLoad& load, const BlockHandle& handle);
  ZstdUnpacker& zstd();
  void tell(BlockTicket& ticket);
  bool is_idle() const { return under_way_.empty() && tells_under_way_ == 0; }
  static Async<void> tell_later(BlockLoader& loader, BlockTicket& ticket);

  ShardExecutor executor_;
  BlockCache& cache_;
  absl::flat_hash_map<BlockKey, BlockLoad*> under_way_;
  bool large_under_way_ = false;
  std::deque<std::unique_ptr<BlockLoad>> large_;  // that wait for it
  size_t tells_under_way_ = 0;
  Notify became_idle_;
  absl::flat_hash_map<BlobId, DictionaryRef> dictionaries_;
  std::unique_ptr<ZstdUnpacker>
      zstd_;  // from the first block on that needs it; charged to the cache
  Stats stats_;
};

}  // namespace cellar::engine
