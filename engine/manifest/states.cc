#include "engine/manifest/states.h"

#include "engine/manifest/decode.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

// A tablet has one span per session's log, and recovery empties old ones, so a large number is
// damage.
constexpr uint64_t kMaxSpans = 100'000;

Result<void> decode_own_sessions(Reader& in, NodeState& state) {
  const uint64_t ranges = in.varint();
  if (ranges > SessionSet::kMaxSessionRanges) {
    return fail(Errc::data_loss, "node state names {} ranges of sessions", ranges);
  }
  for (uint64_t i = 0; i < ranges && in.ok(); ++i) {
    const uint64_t first = in.varint();
    const uint64_t more = in.varint();
    const uint64_t least =
        state.own_sessions.ranges().empty() ? 1 : uint64_t{state.own_sessions.last().value()} + 2;
    if (first < least || first > state.session.value() || more > state.session.value() - first) {
      return fail(Errc::data_loss, "the sessions of a node state make no sense");
    }
    state.own_sessions.add({SessionEpoch{static_cast<uint32_t>(first)},
                            SessionEpoch{static_cast<uint32_t>(first + more)}});
  }
  if (in.ok() && state.own_sessions.last() != state.session) {
    return fail(Errc::data_loss, "the last session of a node state is none of its own");
  }
  return {};
}

}  // namespace

std::string encode_node_state(const NodeState& state) {
  std::string out;
  put_u8(out, NodeState::kVersion);
  put_varint(out, state.session.value());
  put_varint(out, state.next_table.value());
  put_varint(out, state.next_tablet.value());
  put_varint(out, zigzag(state.tokens.window_us));
  put_varint(out, zigzag(state.tokens.raised_us));
  put_varint(out, zigzag(state.tokens.before_us));
  put_varint(out, state.own_sessions.ranges().size());
  for (const SessionSet::Range& range : state.own_sessions.ranges()) {
    put_varint(out, range.first.value());
    put_varint(out, range.last.value() - range.first.value());
  }
  return out;
}

Result<NodeState> decode_node_state(Bytes encoded) {
  Reader in(encoded);
  TRY_VOID(check_version(in, NodeState::kVersion, "node state"));
  NodeState state;
  state.session = SessionEpoch{static_cast<uint32_t>(in.varint())};
  state.next_table = TableId{in.varint()};
  state.next_tablet = TabletId{in.varint()};
  state.tokens.window_us = in.signed_varint();
  state.tokens.raised_us = in.signed_varint();
  state.tokens.before_us = in.signed_varint();
  TRY_VOID(decode_own_sessions(in, state));
  TRY_VOID(check_consumed(in, "node state"));
  return state;
}

std::string encode_tablet_state(const TabletState& state) {
  std::string out;
  put_u8(out, TabletState::kVersion);
  put_varint(out, state.table.value());
  put_varint(out, state.epoch.value());
  put_varint(out, state.home);
  put_bytes(out, state.start);
  put_bytes(out, state.end);
  put_varint(out, state.created.value());
  put_varint(out, state.last_flushed.value());
  put_varint(out, state.next_run);
  put_varint(out, state.spans.size());
  for (const LogSpan& span : state.spans) {
    put_varint(out, span.log.value());
    put_varint(out, span.from.value());
    // An open end is encoded as 0, which a closed end never is.
    put_varint(out, span.to == kLogEnd ? 0 : span.to.value() + 1);
  }
  encode_range_tokens(out, state.range_tokens);
  return out;
}

Result<TabletState> decode_tablet_state(Bytes encoded) {
  Reader in(encoded);
  TRY_VOID(check_version(in, TabletState::kVersion, "tablet state"));
  TabletState state;
  state.table = TableId{in.varint()};
  state.epoch = Epoch{in.varint()};
  state.home = static_cast<uint32_t>(in.varint());
  state.start = in.bytes();
  state.end = in.bytes();
  state.created = CommitStamp{in.varint()};
  state.last_flushed = CommitStamp{in.varint()};
  state.next_run = in.varint();
  const uint64_t spans = in.varint();
  if (spans > kMaxSpans) return fail(Errc::data_loss, "tablet state names {} log spans", spans);
  for (uint64_t i = 0; i < spans && in.ok(); ++i) {
    LogSpan span;
    span.log = LogId{in.varint()};
    span.from = LogPosition{in.varint()};
    const uint64_t to = in.varint();
    span.to = to == 0 ? kLogEnd : LogPosition{to - 1};
    state.spans.push_back(span);
  }
  if (!decode_range_tokens(in, state.range_tokens)) {
    return fail(Errc::data_loss, "the range tokens of a tablet state cannot be read");
  }
  TRY_VOID(check_consumed(in, "tablet state"));
  return state;
}

}  // namespace cellar::engine
