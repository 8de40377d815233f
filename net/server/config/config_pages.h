// What is written about the settings, all of it from their one table: the help, the sample file
// (deploy/cellard.toml), the reference (net/server/CONFIGURATION.md) and what a node was really
// told. Tests compare both files with what is made here; `cellard --sample-config` and
// `cellard --config-reference` write them anew.
#pragma once

#include <string>
#include <string_view>

#include "net/server/config/config.h"
#include "net/server/config/settings.h"

namespace cellar::server {

// The first lines of --help.
std::string_view about_program();
// One setting in --help: what it means, its kind, bounds, default and variable.
std::string help_of(const Setting& setting);

std::string sample_config();
std::string config_reference();

// Every setting, as TOML that would say the same again; a comment tells where each came from. No
// setting holds a secret: those are files that settings name.
std::string effective_config(const Config& config);

}  // namespace cellar::server
