#include "engine/sstable/block_writer.h"

#include "io/base/coding.h"

namespace cellar::engine {

void BlockWriter::add(Bytes key, Bytes value) {
  size_t shared = 0;
  if (entries_ % kRestartInterval == 0) {
    restarts_.push_back(static_cast<uint32_t>(out_.size()));
  } else {
    shared = common_prefix(last_key_, key);
  }
  put_varint(out_, shared);
  put_varint(out_, key.size() - shared);
  put_varint(out_, value.size());
  out_.append(key.substr(shared));
  out_.append(value);
  last_key_.resize(shared);
  last_key_.append(key.substr(shared));
  ++entries_;
}

Bytes BlockWriter::finish() {
  for (uint32_t restart : restarts_) put_u32(out_, restart);
  put_u32(out_, static_cast<uint32_t>(restarts_.size()));
  return out_;
}

void BlockWriter::reset() {
  out_.clear();
  last_key_.clear();
  restarts_.clear();
  entries_ = 0;
}

}  // namespace cellar::engine
