#include "engine/sstable/block_loader.h"

#include <algorithm>
#include <utility>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

// A read-ahead of a merge loads some two hundred blocks, which would take half a millisecond to
// unpack: the loop yields after this many.
constexpr size_t kBlocksAtOnce = 32;  // some 60 us

}  // namespace

// One device read and its waiters.
class BlockLoad {
 public:
  BlockLoad(BlockLoader& loader, Blob& blob, std::span<const BlockHandle> run, IoClass io_class)
      : loader(loader), blob(blob), blocks(run.begin(), run.end()) {
    read.offset = run.front().offset;
    read.size = run.back().end() - run.front().offset;
    read.io_class = io_class;
    read.context = this;
    read.done = [](BlobRead& r) {
      std::unique_ptr<BlockLoad> load(static_cast<BlockLoad*>(r.context));
      BlockLoader& its_loader = load->loader;
      if (load->blocks.size() > kBlocksAtOnce && !r.error) {
        spawn(its_loader.executor_, unpack_in_steps(std::move(load)));
        return;
      }
      const bool was_large = load->is_large();
      its_loader.finished(*load);
      load.reset();
      if (was_large) its_loader.next_large();
    };
  }
  bool is_large() const { return read.size >= BlockLoader::kLargeBytes; }
  // Unpacks many blocks in steps when the read is done; until then they count as in flight.
  static Async<void> unpack_in_steps(std::unique_ptr<BlockLoad> load);

  BlockLoader& loader;
  Blob& blob;
  BlobRead read;
  std::vector<BlockHandle> blocks;
  std::vector<PendingBlock*> requests;
  BlockLoader::DictionaryRef dictionary;  // for the blob's blocks; null: none
};

Async<void> BlockLoad::unpack_in_steps(std::unique_ptr<BlockLoad> load) {
  BlockLoader& loader = load->loader;
  const BlobId blob = load->blob.id();
  ++loader.tells_under_way_;
  std::vector<Result<BlockLoader::Unpacked>> unpacked;
  for (const BlockHandle& handle : load->blocks) {
    unpacked.push_back(loader.unpack(*load, handle));
    if (unpacked.size() % kBlocksAtOnce == 0) co_await yield_now();
  }
  for (const BlockHandle& handle : load->blocks) loader.under_way_.erase({blob, handle.offset});
  --loader.tells_under_way_;
  const bool was_large = load->is_large();
  loader.complete(*load, std::move(unpacked));
  load.reset();
  if (was_large) loader.next_large();
}

PendingBlock::~PendingBlock() {
  CHECK(!under_way, "an iterator was destroyed while its block was on its way");
}

BlockLoader::BlockLoader(ShardExecutor executor, BlockCache& cache)
    : executor_(executor), cache_(cache) {}

BlockLoader::~BlockLoader() {
  CHECK(is_idle(), "{} blocks are on their way", under_way_.size());
  if (zstd_ != nullptr) cache_.release(zstd_->memory_bytes());
}

void BlockLoader::add_dictionary(BlobId blob, Bytes dictionary) {
  DictionaryRef& held = dictionaries_[blob];
  if (held == nullptr) {
    held.reset(new Dictionary());
    held->bytes = dictionary;
  }
  ++held->users;
}

void BlockLoader::remove_dictionary(BlobId blob) {
  const auto it = dictionaries_.find(blob);
  CHECK(it != dictionaries_.end(), "blob {:016x} has no dictionary", blob.value());
  if (--it->second->users == 0) dictionaries_.erase(it);
}

BlockLoader::DictionaryRef BlockLoader::dictionary_of(BlobId blob) const {
  const auto it = dictionaries_.find(blob);
  return it == dictionaries_.end() ? nullptr : it->second;
}

ZstdUnpacker& BlockLoader::zstd() {
  if (zstd_ == nullptr) {
    zstd_ = std::make_unique<ZstdUnpacker>();
    cache_.charge(zstd_->memory_bytes());
  }
  return *zstd_;
}

void BlockLoader::start(Blob& blob, std::span<const BlockHandle> run, IoClass io_class,
                        CacheUse use, PendingBlock& pending, BlockWaiter& waiter) {
  CHECK(!pending.under_way && !run.empty());
  pending.blocks.clear();
  pending.error.reset();
  pending.waiter = &waiter;
  pending.blob = &blob;
  pending.handle = run.front();
  pending.io_class = io_class;
  pending.use = use;
  pending.under_way = true;

  const BlockKey first{blob.id(), run.front().offset};
  if (const auto it = under_way_.find(first); it != under_way_.end()) {
    ++stats_.joined;
    it->second->requests.push_back(&pending);
    return;
  }
  // The block may have been loaded since the iterator looked.
  if (BlockRef came = cache_.contains(first) ? cache_.find(first) : BlockRef()) {
    pending.blocks.push_back(std::move(came));
    ++tells_under_way_;
    spawn(executor_, tell_later(*this, pending));
    return;
  }
  size_t n = 1;
  while (n < run.size() && !cache_.contains({blob.id(), run[n].offset}) &&
         !under_way_.contains({blob.id(), run[n].offset})) {
    ++n;
  }
  submit(blob, run.first(n), dictionary_of(blob.id()), pending);
}

void BlockLoader::submit(Blob& blob, std::span<const BlockHandle> run, DictionaryRef dictionary,
                         PendingBlock& pending) {
  auto load = std::make_unique<BlockLoad>(*this, blob, run, pending.io_class);
  load->requests.push_back(&pending);
  load->dictionary = std::move(dictionary);
  for (const BlockHandle& handle : run) under_way_[{blob.id(), handle.offset}] = load.get();
  ++stats_.reads;
  stats_.read_blocks += run.size();
  stats_.read_bytes += load->read.size;
  if (load->is_large() && std::exchange(large_under_way_, true)) {
    large_.push_back(std::move(load));
    return;
  }
  blob.submit(load.release()->read);  // `done` takes ownership back
}

void BlockLoader::next_large() {
  large_under_way_ = !large_.empty();
  if (large_.empty()) return;
  std::unique_ptr<BlockLoad> load = std::move(large_.front());
  large_.pop_front();
  Blob& blob = load->blob;
  blob.submit(load.release()->read);
}

void BlockLoader::finished(BlockLoad& load) {
  const BlobId blob = load.blob.id();
  for (const BlockHandle& handle : load.blocks) under_way_.erase({blob, handle.offset});
  if (load.read.error) {
    ++stats_.failed;
    // One of several blocks may be unreadable: each request gets its own answer.
    if (load.blocks.size() > 1) return retry_alone(load);
    complete(load, std::vector<Result<Unpacked>>(1, std::unexpected(*load.read.error)));
    return;
  }
  std::vector<Result<Unpacked>> blocks;
  for (const BlockHandle& handle : load.blocks) blocks.push_back(unpack(load, handle));
  complete(load, std::move(blocks));
}

Result<BlockLoader::Unpacked> BlockLoader::unpack(const BlockLoad& load,
                                                  const BlockHandle& handle) {
  const BlobId blob = load.blob.id();
  const uint64_t offset = handle.offset;
  const Bytes stored = load.read.data.substr(offset - load.read.offset, handle.size);
  Result<CheckedBlock> checked = check_block(stored, blob, offset);
  if (checked) {
    char* into = nullptr;
    BlockRef block = make_block({blob, offset}, checked->raw_bytes, into);
    const bool is_zstd = checked->type >= BlockType::zstd;
    const Bytes dictionary = load.dictionary ? Bytes(load.dictionary->bytes) : Bytes();
    Result<void> unpacked =
        unpack_block(*checked, into, blob, offset, dictionary, is_zstd ? &zstd() : nullptr);
    if (unpacked) return Unpacked{std::move(block), *checked};
    checked = std::unexpected(std::move(unpacked).error());
  }
  ++stats_.damaged;
  return std::unexpected(std::move(checked).error());
}

void BlockLoader::retry_alone(BlockLoad& load) {
  for (PendingBlock* pending : load.requests) {
    const BlockKey key{load.blob.id(), pending->handle.offset};
    if (const auto it = under_way_.find(key); it != under_way_.end()) {
      it->second->requests.push_back(pending);
    } else {
      submit(load.blob, std::span(&pending->handle, 1), load.dictionary, *pending);
    }
  }
}

void BlockLoader::complete(BlockLoad& load, std::vector<Result<Unpacked>> blocks) {
  const bool keep = std::any_of(load.requests.begin(), load.requests.end(),
                                [](PendingBlock* t) { return t->use == CacheUse::keep; });
  for (Result<Unpacked>& one : blocks) {
    if (keep && one) one->block = cache_.insert(one->block, &one->stored);
  }
  for (PendingBlock* pending : load.requests) {
    size_t i = 0;
    while (load.blocks[i].offset != pending->handle.offset) ++i;
    if (!blocks[i]) pending->error = blocks[i].error();
    for (; i < blocks.size() && blocks[i]; ++i) pending->blocks.push_back(blocks[i]->block);
  }
  // Notifications may start new loads or destroy iterators; nothing of this load is used
  // afterwards.
  const std::vector<PendingBlock*> requests = std::move(load.requests);
  for (PendingBlock* pending : requests) tell(*pending);
}

void BlockLoader::tell(PendingBlock& pending) {
  pending.under_way = false;
  if (is_idle()) became_idle_.notify_all();
  pending.waiter->block_done();
}

Async<void> BlockLoader::tell_later(BlockLoader& loader, PendingBlock& pending) {
  co_await yield_now();
  --loader.tells_under_way_;
  loader.tell(pending);
}

Async<void> BlockLoader::idle() {
  while (!is_idle()) co_await became_idle_.wait();
}

}  // namespace cellar::engine
