#include "bench/load/pacer.h"

namespace cellar::bench {

Pacer::Pacer(Loop& loop, const LoadOptions& options, Budget& budget, ThreadTally& tally,
             Schedule schedule)
    : loop_(loop),
      options_(options),
      budget_(budget),
      tally_(tally),
      schedule_(schedule),
      wake_(loop.executor()) {
  loop_.add_hook(*this);
}

Pacer::~Pacer() { loop_.remove_hook(*this); }

Connection* Pacer::next_connection() {
  for (size_t tried = 0; tried < connections_.size(); ++tried) {
    Connection* connection = connections_[next_];
    next_ = (next_ + 1) % connections_.size();
    if (connection->may_send()) return connection;
  }
  return nullptr;
}

void Pacer::note_lateness(int64_t due_ns, int64_t now_ns) {
  if (due_ns < tally_.times.measure_from_ns || due_ns <= blocked_until_ns_) return;
  const int64_t late_ns = now_ns - due_ns;
  tally_.lateness.record(static_cast<uint64_t>(late_ns));
  if (late_ns > options_.max_late_us * 1000) ++tally_.late_sends;
}

// Sends at most `depth` requests that are due. False: the run has ended.
bool Pacer::send_due(Connection& connection, int64_t now_ns) {
  for (uint32_t n = 0; n < options_.depth && schedule_.next_ns() <= now_ns; ++n) {
    const int64_t due_ns = schedule_.next_ns();
    if (due_ns >= tally_.times.stop_at_ns) return false;
    if (!connection.may_send()) break;
    if (due_ns >= tally_.times.measure_from_ns && !budget_.take()) return false;
    note_lateness(due_ns, now_ns);
    schedule_.take();
    connection.send(due_ns);
  }
  return true;
}

void Pacer::poll() {
  if (tally_.ended) return;
  for (int64_t now_ns = steady_ns(); schedule_.next_ns() <= now_ns; now_ns = steady_ns()) {
    if (schedule_.next_ns() >= tally_.times.stop_at_ns) return end();
    Connection* connection = next_connection();
    if (connection == nullptr) {
      blocked_until_ns_ = now_ns;
      // The run ends on time even if no connection can send.
      if (now_ns >= tally_.times.stop_at_ns) end();
      return;
    }
    const bool goes_on = send_due(*connection, now_ns);
    connection->flush();
    if (!goes_on) return end();
  }
}

void Pacer::end() {
  tally_.ended = true;
  for (Connection* connection : connections_) connection->finish();
}

bool Pacer::on_turn() {
  if (tally_.ended) return false;
  const uint64_t before = schedule_.taken();
  poll();
  return schedule_.taken() != before;
}

bool Pacer::may_sleep() {
  if (tally_.ended) return true;
  const int64_t wait_ns = schedule_.next_ns() - steady_ns();
  if (wait_ns <= kSpinNs) return false;
  if (wakes_) return true;
  wakes_ = true;
  wake_.expires_after(std::chrono::nanoseconds(wait_ns - kSpinNs));
  wake_.async_wait([this](boost::system::error_code ec) {
    if (!ec) wakes_ = false;
  });
  return true;
}

}  // namespace cellar::bench
