// The scripts of `cellar completion`. They contain no commands: each calls the program, so that
// they remain valid when it changes.
#include "net/cli/program/complete.h"

namespace cellar::cli {

namespace {

constexpr std::string_view kBash = R"sh(# Completion of cellar for bash. Load it with
#   source <(cellar completion bash)
# or put it into ~/.local/share/bash-completion/completions/cellar
_cellar() {
  local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} lead
  COMPREPLY=($("$1" __complete bash "$line" 2>/dev/null))
  # bash breaks words at = and : and replaces only what stands behind them.
  line=${line##* }
  if [[ $line == *[=:]* && $COMP_WORDBREAKS == *=* ]]; then
    lead=${line%"${line##*[=:]}"}
    COMPREPLY=("${COMPREPLY[@]#"$lead"}")
  fi
}
complete -o nospace -o default -F _cellar cellar
)sh";

constexpr std::string_view kZsh = R"sh(#compdef cellar
# Completion of cellar for zsh. Load it with
#   source <(cellar completion zsh)
# or put it into a directory of $fpath as _cellar
_cellar() {
  local line word
  local -a whole whole_help open open_help
  for line in "${(@f)$(${words[1]} __complete zsh "${BUFFER[1,CURSOR]}" 2>/dev/null)}"; do
    word=${line%%$'\t'*}
    [[ -z $word ]] && continue
    if [[ $word == *' ' ]]; then
      whole+=("${word% }")
      whole_help+=("${word% }  ${line#*$'\t'}")
    else
      open+=("$word")
      open_help+=("$word  ${line#*$'\t'}")
    fi
  done
  (( $#whole )) && compadd -Q -l -d whole_help -a whole
  (( $#open )) && compadd -Q -S '' -l -d open_help -a open
  (( $#whole + $#open )) || _files
}
if [[ ${funcstack[1]} == _cellar ]]; then _cellar "$@"; else compdef _cellar cellar; fi
)sh";

}  // namespace

int completion(Session& session, const Arguments& arguments) {
  const bool bash = arguments[0] == "bash";
  if (!bash && arguments[0] != "zsh") {
    return session.usage(
        Error(Errc::invalid_argument,
              fmt::format("there is no completion for '{}'; bash and zsh have one", arguments[0])));
  }
  session.console.write(bash ? kBash : kZsh);
  return kDone;
}

}  // namespace cellar::cli
