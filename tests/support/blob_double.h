// BlobDouble: a blob store over another one whose blobs may be out of reach for a while, as those
// on other machines.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/store/blob_store.h"
#include "io/loop/async.h"

namespace cellar::support {

class BlobDouble final : public engine::BlobStore {
 public:
  // Of all stores of a node; outlives them.
  struct Reach {
    bool reachable = true;
    uint64_t refused_reads = 0;
  };

  BlobDouble(std::unique_ptr<engine::BlobStore> store, ShardExecutor executor, Reach& reach)
      : store_(std::move(store)), executor_(executor), reach_(reach) {}

  Async<Result<std::unique_ptr<engine::BlobWriter>>> create(BlobId id, uint64_t expected_bytes,
                                                            IoClass io_class) override {
    return store_->create(id, expected_bytes, io_class);
  }
  Async<Result<std::unique_ptr<engine::Blob>>> open(BlobId id) override {
    if (!reach_.reachable) co_return std::unexpected(unreachable());
    CO_TRY(auto blob, co_await store_->open(id));
    co_return std::make_unique<Opened>(*this, std::move(blob));
  }
  Async<Result<std::vector<engine::BlobInfo>>> list() override { return store_->list(); }
  Async<Result<void>> remove(BlobId id) override { return store_->remove(id); }
  double write_rate() const override { return store_->write_rate(); }

 private:
  class Opened final : public engine::Blob {
   public:
    Opened(BlobDouble& store, std::unique_ptr<engine::Blob> blob)
        : store_(store), blob_(std::move(blob)) {}
    BlobId id() const override { return blob_->id(); }
    uint64_t size() const override { return blob_->size(); }
    void submit(engine::BlobRead& read) override {
      if (store_.reach_.reachable) return blob_->submit(read);
      ++store_.reach_.refused_reads;
      spawn(store_.executor_, refuse(read));
    }

   private:
    BlobDouble& store_;
    const std::unique_ptr<engine::Blob> blob_;
  };

  static Error unreachable() { return engine::unreachable_blob("the test holds the blobs back"); }
  static Async<void> refuse(engine::BlobRead& read) {
    co_await yield_now();
    read.error = unreachable();
    read.done(read);
  }

  const std::unique_ptr<engine::BlobStore> store_;
  const ShardExecutor executor_;
  Reach& reach_;
};

}  // namespace cellar::support
