// AskedWork: long work that a client waits for: ends when the client is gone or its deadline has
// passed, and reports progress now and then, if the client asked for it and receives what is sent.
#pragma once

#include <string_view>

#include "io/base/result.h"
#include "net/server/shard/local_shard.h"
#include "net/server/shard/session.h"

namespace cellar::server {

class AskedWork {
 public:
  // Interval between two reports.
  static constexpr int64_t kProgressUs = 200'000;

  // `what` names the work in errors: "the preview". All must outlive it.
  AskedWork(LocalShard& shard, Session& session, const wire::FrameHeader& header, bool progress,
            std::string_view what)
      : shard_(shard),
        session_(session),
        header_(header),
        deadline_us_(session.deadline_us(header)),
        progress_(progress),
        what_(what),
        told_us_(shard.timers().now_us()) {
    token_.request_id = header.request_id;
    session.add_work(token_);
  }

  // CANCELLED or DEADLINE_EXCEEDED: the work should end. Otherwise sends report(builder), the body
  // of a chunk, if it is time.
  template <class Report>
  Result<void> go_on(Report&& report) {
    const int64_t now_us = shard_.timers().now_us();
    if (token_.given_up) return fail(Errc::cancelled, "{} was cancelled", what_);
    if (deadline_us_ != 0 && now_us >= deadline_us_) {
      return fail(Errc::deadline_exceeded, "{} took longer than its {} ms", what_,
                  header_.deadline_ms);
    }
    if (!progress_ || now_us - told_us_ < kProgressUs || session_.output_full()) return {};
    told_us_ = now_us;
    session_.chunk(header_, report(shard_.builder()));
    return {};
  }

 private:
  LocalShard& shard_;
  Session& session_;
  const wire::FrameHeader header_;
  const int64_t deadline_us_;
  const bool progress_;
  const std::string_view what_;
  int64_t told_us_;
  CancelToken token_;
};

}  // namespace cellar::server
