#include "net/cli/print/reclaim_format.h"

#include <array>

#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

using client::ReclaimFile;
using client::ReclaimReason;

namespace {

constexpr size_t kReasons = 19;
constexpr std::array<std::string_view, kReasons> kNames = {
    "none",        "within_slack",      "margin",           "its_turn",
    "later",       "all_runs",          "merging",          "masks_older",
    "undo_window", "damaged",           "beside_damaged",   "failed",
    "read_only",   "pinned_by_readers", "pinned_by_backup", "not_removed",
    "shared",      "unknown",           "in_vain"};

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

std::string since(const ReclaimFile& file, int64_t now_us) {
  return format_distance(file.since_us, now_us);
}

}  // namespace

std::string reason_name(ReclaimReason reason) {
  const auto i = static_cast<size_t>(reason);
  return i < kReasons ? std::string(kNames[i]) : fmt::format("reason_{}", i);
}

std::string blob_name(uint64_t blob) { return fmt::format("{:016x}", blob); }

std::string reason_text(const ReclaimFile& file, int64_t now_us) {
  const std::string other = blob_name(file.other);
  switch (file.reason) {
    case ReclaimReason::none:
      return "nothing is known against its going";
    case ReclaimReason::within_slack:
      return fmt::format("no more is overdue than dead_slack allows; more will be {}",
                         when(file.until_us, now_us));
    case ReclaimReason::margin:
      return fmt::format("wholly dead; leaves when the removal margin is over, {}",
                         when(file.until_us, now_us));
    case ReclaimReason::its_turn:
      return "next to be worked on: " + turn(file, now_us);
    case ReclaimReason::later:
      return "comes after what frees more for what it writes: " + turn(file, now_us);
    case ReclaimReason::all_runs:
      return fmt::format("versions are counted, so it leaves in a merge of all {}: {}",
                         counted(file.count, "run"), turn(file, now_us));
    case ReclaimReason::merging:
      return fmt::format("goes into the merge that began {}", since(file, now_us));
    case ReclaimReason::masks_older:
      return fmt::format(
          "wholly dead, but it masks what is older, perhaps in {}; leaves in a merge "
          "of all {}, which is due {}",
          other, counted(file.count, "run"), when(file.until_us, now_us));
    case ReclaimReason::undo_window:
      return fmt::format("a change of the rule can still be undone, until {}",
                         format_time(file.until_us));
    case ReclaimReason::damaged:
      return fmt::format("damaged, and no merge reads it: {}", file.error);
    case ReclaimReason::beside_damaged:
      return fmt::format("only a merge that reads {}, which is damaged, would take it away", other);
    case ReclaimReason::failed:
      return fmt::format("the last attempt, {}, failed, and the next is {}: {}",
                         since(file, now_us), when(file.until_us, now_us), file.error);
    case ReclaimReason::read_only:
      return fmt::format("its shard takes no writes: {}", file.error);
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
      return "it does not tell what dies in it; a merge writes it so that it does";
    case ReclaimReason::in_vain:
      return fmt::format(
          "the last attempt took less away than was thought to be dead; the next is "
          "{}",
          when(file.until_us, now_us));
  }
  return fmt::format("of reason {}, which this program does not know",
                     static_cast<unsigned>(file.reason));
}

std::string reason_of_many(ReclaimReason reason) {
  constexpr std::array<std::string_view, kReasons> kTexts = {
      "nothing is known against their going",
      "no more is overdue than dead_slack allows",
      "wholly dead, within the removal margin",
      "next to be worked on",
      "after what frees more for what it writes",
      "versions are counted: a merge of all runs",
      "in the merge that runs",
      "wholly dead, but they mask what is older",
      "a change of the rule can still be undone",
      "damaged",
      "beside a damaged file that a merge would read",
      "the last attempt failed",
      "their shard takes no writes",
      "replaced, and still read",
      "replaced, and a backup copies them",
      "replaced, and the disk did not remove them",
      "other tablets need the rest of them",
      "they do not tell what dies in them",
      "the last attempt took less away than was thought"};
  const auto i = static_cast<size_t>(reason);
  return i < kReasons ? std::string(kTexts[i]) : reason_name(reason);
}

}  // namespace cellar::cli
