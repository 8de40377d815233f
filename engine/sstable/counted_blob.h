// CountedBlob: an open blob shared by a table and the reads that outlive it. One shard.
#pragma once

#include <memory>
#include <utility>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "engine/store/blob_store.h"

namespace cellar::engine {

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

}  // namespace cellar::engine
