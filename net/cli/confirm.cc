#include "net/cli/confirm.h"

namespace cellar::cli {

std::vector<KeySpec> confirm_keys() { return {{"yes", "", "do not ask"}}; }

Result<void> can_confirm(const Session& session, const Arguments& arguments) {
  TRY(const bool yes, arguments.flag("yes"));
  if (yes || (session.console.in_is_terminal && session.console.in != nullptr)) return {};
  return fail(Errc::invalid_argument, "nobody can be asked here: look first, then add --yes");
}

bool confirmed(const Session& session, const Arguments& arguments, std::string_view question) {
  if (arguments.flag("yes").value_or(false)) return true;
  const Console& console = session.console;
  std::fflush(console.out);
  std::fprintf(console.err, "%.*s [y/N] ", static_cast<int>(question.size()), question.data());
  std::fflush(console.err);
  char answer[16];
  if (std::fgets(answer, sizeof answer, console.in) == nullptr) {  // Ctrl-D, or Ctrl-C
    std::clearerr(console.in);
    std::fprintf(console.err, "\n");
    return false;
  }
  const std::string_view said(answer);
  return said == "y\n" || said == "yes\n" || said == "Y\n";
}

}  // namespace cellar::cli
