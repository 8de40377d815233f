// MemBlobStore: blobs in memory, with faults and direct access to their bytes, for tests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/store/blob_store.h"
#include "io/base/check.h"

namespace cellar::engine {

class MemBlobStore final : public BlobStore {
 public:
  explicit MemBlobStore(ShardExecutor executor) : executor_(executor) {}

  std::string& bytes(BlobId id) { return blobs_.at(id); }
  void put(BlobId id, std::string content) { blobs_[id] = std::move(content); }
  // Every read that contains this offset fails like a device error.
  void fail_reads_of(uint64_t offset) { bad_offset_ = offset; }
  void heal() { bad_offset_.reset(); }
  uint64_t reads() const { return reads_; }
  // Appends fail once a writer has taken this many bytes.
  void fail_writes_after(uint64_t bytes) { write_limit_ = bytes; }
  size_t open_writers() const { return open_writers_; }
  // The next `count` blobs have memory for this many bytes, already mapped, so that writing them
  // costs only a copy.
  void make_rooms(size_t count, size_t bytes) {
    for (size_t i = 0; i < count; ++i) {
      rooms_.emplace_back(bytes, 'x');
      rooms_.back().clear();
    }
  }

  Async<Result<std::unique_ptr<BlobWriter>>> create(BlobId id, uint64_t /*expected_bytes*/,
                                                    IoClass /*io_class*/) override {
    if (blobs_.contains(id)) co_return fail(Errc::already_exists, "blob {:x} exists", id.value());
    ++open_writers_;
    co_return std::make_unique<Writer>(*this, id);
  }
  Async<Result<std::unique_ptr<Blob>>> open(BlobId id) override {
    if (!blobs_.contains(id))
      co_return fail(Errc::not_found, "blob {:x} does not exist", id.value());
    co_return std::make_unique<MemBlob>(*this, id);
  }
  Async<Result<std::vector<BlobInfo>>> list() override {
    std::vector<BlobInfo> out;
    for (const auto& [id, content] : blobs_) out.push_back({id, content.size(), true});
    co_return out;
  }
  Async<Result<void>> remove(BlobId id) override {
    blobs_.erase(id);
    co_return Result<void>();
  }

 private:
  class Writer final : public BlobWriter {
   public:
    Writer(MemBlobStore& store, BlobId id) : store_(store), id_(id) {
      if (store.rooms_.empty()) return;
      content_ = std::move(store.rooms_.back());
      store.rooms_.pop_back();
    }
    ~Writer() override { CHECK(closed_, "a writer was neither sealed nor abandoned"); }
    Async<Result<void>> append(Bytes part) override {
      content_.append(part);
      co_await yield_now();
      if (content_.size() > store_.write_limit_) co_return fail(Errc::unavailable, "disk gone");
      co_return Result<void>();
    }
    uint64_t size() const override { return content_.size(); }
    Async<Result<void>> seal() override {
      store_.blobs_[id_] = std::move(content_);
      close();
      co_return Result<void>();
    }
    Async<Result<void>> abandon() override {
      close();
      co_return Result<void>();
    }

   private:
    void close() {
      CHECK(!closed_);
      closed_ = true;
      --store_.open_writers_;
    }
    MemBlobStore& store_;
    BlobId id_;
    std::string content_;
    bool closed_ = false;
  };

  class MemBlob final : public Blob {
   public:
    MemBlob(MemBlobStore& store, BlobId id) : store_(store), id_(id) {}
    ~MemBlob() override { CHECK(in_flight_ == 0); }
    BlobId id() const override { return id_; }
    uint64_t size() const override { return store_.blobs_.at(id_).size(); }
    void submit(BlobRead& read) override {
      ++in_flight_;
      ++store_.reads_;
      spawn(store_.executor_, complete(*this, read));
    }

   private:
    static Async<void> complete(MemBlob& blob, BlobRead& read) {
      co_await yield_now();
      const auto found = blob.store_.blobs_.find(blob.id_);
      const Bytes content = found == blob.store_.blobs_.end() ? Bytes() : Bytes(found->second);
      const std::optional<uint64_t> bad = blob.store_.bad_offset_;
      if (bad && *bad >= read.offset && *bad - read.offset < read.size) {
        read.error = Error(Errc::unavailable, "input/output error");
      } else if (read.offset > content.size() || read.size > content.size() - read.offset) {
        read.error = Error(Errc::data_loss, "read past the end of the blob");
      } else {
        read.buffer = AlignedBuffer(read.size);
        std::memcpy(read.buffer.data(), content.data() + read.offset, read.size);
        read.data = read.buffer.bytes(0, read.size);
      }
      --blob.in_flight_;
      read.done(read);
    }
    MemBlobStore& store_;
    BlobId id_;
    size_t in_flight_ = 0;
  };

  ShardExecutor executor_;
  std::vector<std::string> rooms_;
  std::map<BlobId, std::string> blobs_;
  std::optional<uint64_t> bad_offset_;
  uint64_t write_limit_ = UINT64_MAX;
  uint64_t reads_ = 0;
  size_t open_writers_ = 0;
};

}  // namespace cellar::engine
