// SessionRead: a read in progress, as the session of its connection knows it.
#pragma once

#include <cstdint>

#include <boost/intrusive/list.hpp>

#include "net/wire/frame.h"

namespace cellar::server {

using ReadHook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Belongs to the connection's shard.
struct SessionRead : ReadHook {
  wire::FrameHeader header;

  // ---- called by the session; none of them ends the read before returning ----
  virtual void cancel() = 0;
  virtual void abandon() = 0;  // the client is gone
  virtual void add_credits(uint32_t chunks) = 0;
  virtual void output_drained() = 0;

 protected:
  ~SessionRead() = default;
};

}  // namespace cellar::server
