#include "net/cli/print/reclaim_format.h"

#include <array>

#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

using client::ReclaimFile;
using client::ReclaimReason;

namespace {

// The name in JSON, and the text for many files.
struct ReasonName {
  ReclaimReason reason;
  std::string_view name;
  std::string_view of_many;
};
constexpr std::array kReasons = {
    ReasonName{ReclaimReason::none, "none", "no reason is known"},
    ReasonName{ReclaimReason::within_slack, "within_slack",
               "no more is overdue than dead_slack allows"},
    ReasonName{ReclaimReason::margin, "margin", "wholly dead, within the removal margin"},
    ReasonName{ReclaimReason::its_turn, "its_turn", "waiting for their turn, or being merged"},
    ReasonName{ReclaimReason::undo_window, "undo_window",
               "a change of the rule can still be undone"},
    ReasonName{ReclaimReason::damaged, "damaged", "damaged, or only merged with a damaged file"},
    ReasonName{ReclaimReason::failed, "failed", "the last attempt failed"},
    ReasonName{ReclaimReason::pinned_by_readers, "pinned_by_readers", "replaced, and still read"},
    ReasonName{ReclaimReason::pinned_by_backup, "pinned_by_backup",
               "replaced, and a backup copies them"},
    ReasonName{ReclaimReason::not_removed, "not_removed",
               "replaced, and the disk did not remove them"},
    ReasonName{ReclaimReason::shared, "shared", "other tablets need the rest of them"},
    ReasonName{ReclaimReason::unknown, "unknown", "without statistics about expiry"}};

const ReasonName* find_reason(ReclaimReason reason) {
  for (const ReasonName& one : kReasons) {
    if (one.reason == reason) return &one;
  }
  return nullptr;
}

std::string when(int64_t us, int64_t now_us) {
  if (us == 0) return "as things are never";
  return us <= now_us ? "now" : format_distance(us, now_us);
}

std::string turn(const ReclaimFile& file, int64_t now_us) {
  std::string text = fmt::format("begins {}", when(file.until_us, now_us));
  if (file.done_us > now_us) {
    text += fmt::format(", done about {}", format_distance(file.done_us, now_us));
  }
  return text;
}

std::string its_turn(const ReclaimFile& file, int64_t now_us) {
  if (file.since_us != 0)
    return "goes into the merge that began " + format_distance(file.since_us, now_us);
  std::string text = "waits for its turn";
  if (file.other != 0) {
    text = fmt::format(
        "wholly dead, but it masks what is older, perhaps in {}; leaves in a merge of all {}",
        blob_name(file.other), counted(file.count, "run"));
  } else if (file.count != 0) {
    text = fmt::format("versions are counted, so it leaves in a merge of all {}",
                       counted(file.count, "run"));
  }
  return text + ": " + turn(file, now_us);
}

std::string failed(const ReclaimFile& file, int64_t now_us) {
  if (file.since_us == 0) return fmt::format("its shard accepts no writes: {}", file.error);
  return fmt::format("the last attempt, {}, failed, and the next is {}: {}",
                     format_distance(file.since_us, now_us), when(file.until_us, now_us),
                     file.error);
}

std::string since(const ReclaimFile& file, int64_t now_us) {
  return format_distance(file.since_us, now_us);
}

}  // namespace

std::string reason_name(ReclaimReason reason) {
  const ReasonName* known = find_reason(reason);
  return known != nullptr ? std::string(known->name)
                          : fmt::format("reason_{}", static_cast<unsigned>(reason));
}

std::string blob_name(uint64_t blob) { return fmt::format("{:016x}", blob); }

std::string reason_text(const ReclaimFile& file, int64_t now_us) {
  switch (file.reason) {
    case ReclaimReason::none:
      return "no reason is known";
    case ReclaimReason::within_slack:
      return fmt::format("no more is overdue than dead_slack allows; more will be {}",
                         when(file.until_us, now_us));
    case ReclaimReason::margin:
      return fmt::format("wholly dead; leaves when the removal margin is over, {}",
                         when(file.until_us, now_us));
    case ReclaimReason::its_turn:
      return its_turn(file, now_us);
    case ReclaimReason::undo_window:
      return fmt::format("a change of the rule can still be undone, until {}",
                         format_time(file.until_us));
    case ReclaimReason::damaged:
      return file.other == 0
                 ? fmt::format("damaged, and no merge reads it: {}", file.error)
                 : fmt::format("only a merge that reads {}, which is damaged, would take it away",
                               blob_name(file.other));
    case ReclaimReason::failed:
      return failed(file, now_us);
    case ReclaimReason::pinned_by_readers:
      return file.count == 0 ? fmt::format("replaced {}, and still read", since(file, now_us))
                             : fmt::format("replaced {}, and still read by {}", since(file, now_us),
                                           counted(file.count, "cursor"));
    case ReclaimReason::pinned_by_backup:
      return fmt::format("replaced {}, and a backup copies it", since(file, now_us));
    case ReclaimReason::not_removed:
      return fmt::format(
          "replaced {}, and the disk did not remove it (it goes at the next start): "
          "{}",
          since(file, now_us), file.error);
    case ReclaimReason::shared:
      return fmt::format(
          "tablets that were split off have let go of it, and {} need the rest: it "
          "goes when their next merges have written it anew",
          counted(file.count, "tablet"));
    case ReclaimReason::unknown:
      return "without statistics about expiry; a merge adds them";
  }
  return fmt::format("of reason {}, which this program does not know",
                     static_cast<unsigned>(file.reason));
}

std::string reason_of_many(ReclaimReason reason) {
  const ReasonName* known = find_reason(reason);
  return known != nullptr ? std::string(known->of_many) : reason_name(reason);
}

}  // namespace cellar::cli
