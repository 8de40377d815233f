// The settings of families and tables as arguments of the command line, and back as text (SEMANTICS
// 3 to 5 and 8). One list of keys for all commands that create or change them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/model/types.h"
#include "net/cli/session/arguments.h"
#include "net/cli/text/text.h"
#include "net/client/api/admin.h"

namespace cellar::cli {

std::vector<KeySpec> rule_keys();    // rule=
std::vector<KeySpec> family_keys();  // meaning of timestamps, guards, undo window
std::vector<KeySpec> option_keys();  // changeable options of a table

// Whether any of the keys was given.
bool has_any(const Arguments& arguments, const std::vector<KeySpec>& keys);
// "a=, b= or c=", for usage messages.
std::string names_of(const std::vector<KeySpec>& keys);

// Reads rule= and family_keys() into `family`; settings not given are unchanged. The two sides of a
// window change independently: `present` is the one in force. INVALID_ARGUMENT names the argument.
Result<void> read_family(const Arguments& arguments,
                         const std::optional<client::WriteWindow>& present,
                         client::FamilySpec& family);
// Reads families=a,b:RULE and family=NAME; the settings of read_family() apply to each family
// without its own rule.
Result<std::vector<client::FamilySpec>> read_families(const Arguments& arguments);
Result<client::TableOptions> table_options(const Arguments& arguments);

// INVALID_ARGUMENT names the word.
Result<Granularity> parse_granularity(const std::string& name);
Result<Durability> parse_durability(const std::string& name);
Result<client::Profile> parse_profile(const std::string& name);

std::string_view name_of(Granularity granularity);
std::string_view name_of(Durability durability);
std::string_view name_of(client::TimestampMeaning meaning);
std::string_view name_of(client::BornDead born_dead);
std::string_view name_of(client::Profile profile);
std::string_view name_of(client::Compression compression);
std::string_view name_of(client::Compaction compaction);
std::string_view name_of(client::BottomCompression compression);
std::string window_text(const std::optional<client::WriteWindow>& window);
std::string share_text(double share);  // "10%"

// One line per family with all settings in force, under headings; those from the table's profile
// are marked.
Lines family_lines(const std::vector<client::FamilySpec>& families);

}  // namespace cellar::cli
