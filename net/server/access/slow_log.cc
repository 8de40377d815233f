#include "net/server/access/slow_log.h"

#include "io/base/log.h"
#include "net/server/access/access.h"

namespace cellar::server {

void log_slow_request(const SlowRequest& request, uint32_t shard) {
  log_warn("slow",
           "request took long op={} total_us={} queued_us={} engine_us={} reply_us={} code={} "
           "table={} request={} shard={} peer={} client=\"{}\"",
           name_of(request.op), request.total_us(), request.queued_us, request.engine_us,
           request.reply_us, errc_name(request.code), request.table_id, request.request_id, shard,
           request.peer, request.client);
}

}  // namespace cellar::server
