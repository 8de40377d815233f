#include "net/server/shard/kept_body.h"

#include <cstring>

#include "net/server/shard/shard_server.h"

namespace cellar::server {

Bytes KeptBody::keep(ShardServer& shard, Bytes body) {
  CHECK(bytes_ == 0, "a body of {} bytes is kept already", bytes_);
  bytes_ = body.size();
  shard.count_requests(static_cast<ptrdiff_t>(bytes_));
  words_.resize((body.size() + 7) / 8);
  std::memcpy(words_.data(), body.data(), body.size());
  return {reinterpret_cast<const char*>(words_.data()), body.size()};
}

void KeptBody::release(ShardServer& shard) {
  if (bytes_ == 0) return;
  shard.admission().release_bytes(bytes_);
  shard.count_requests(-static_cast<ptrdiff_t>(bytes_));
  bytes_ = 0;
  if (is_large()) std::vector<uint64_t>().swap(words_);
}

}  // namespace cellar::server
