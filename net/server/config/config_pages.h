// Pages generated from the settings table: the help, the sample file (deploy/cellard.toml), the
// reference (net/server/CONFIGURATION.md) and the effective configuration. Tests compare both files
// with the generated text; `cellard --sample-config` and `cellard --config-reference` regenerate
// them.
#pragma once

#include <string>
#include <string_view>

#include "net/server/config/config.h"
#include "net/server/config/settings.h"

namespace cellar::server {

// The first lines of --help.
std::string_view about_program();
// One setting in --help: its meaning, kind, bounds, default and variable.
std::string help_of(const Setting& setting);

std::string sample_config();
std::string config_reference();

// All settings as TOML that reproduces them, with the origin of each in a comment. No setting is a
// secret: secrets are in files that settings name.
std::string effective_config(const Config& config);

}  // namespace cellar::server
