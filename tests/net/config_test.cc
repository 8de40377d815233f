#include "net/server/config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "net/server/settings.h"

namespace cellar::server {
namespace {

Result<Config> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "cellard");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLine, TakesTheFixedNames) {
  const auto config = parse({"--data-dir", "d", "--listen", "127.0.0.1:0", "--shards", "3"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->options.data_dir, "d");
  EXPECT_EQ(config->options.shards, 3u);
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(parse({}));
  EXPECT_FALSE(parse({"--data-dir", "d", "--bogus"}));
  EXPECT_FALSE(parse({"--data-dir", "d", "--shards", "many"}));
  EXPECT_FALSE(parse({"--data-dir", "d", "--listen", "nowhere"}));
  EXPECT_FALSE(parse({"--data-dir", "d", "--config", "/nowhere/at/all"}));
}

TEST(CommandLine, HelpNamesEverySettingWithItsDefault) {
  const auto config = parse({"--help"});
  ASSERT_TRUE(config);
  for (const Setting& setting : settings()) {
    EXPECT_NE(config->print.find(flag_of(setting)), std::string::npos) << setting.name;
    EXPECT_NE(config->print.find(default_of(setting)), std::string::npos) << setting.name;
  }
}

TEST(Settings, EachTakesItsBoundsAndNothingBeyond) {
  for (const Setting& setting : settings()) {
    if (setting.kind == Setting::Kind::text) continue;
    ServerOptions options;
    EXPECT_TRUE(apply(setting, setting.min, options)) << setting.name;
    EXPECT_TRUE(apply(setting, setting.max, options)) << setting.name;
    EXPECT_EQ(setting.number_of(options), setting.max) << setting.name;
    EXPECT_FALSE(apply(setting, setting.min - 1, options)) << setting.name;
    EXPECT_FALSE(apply(setting, setting.max + 1, options)) << setting.name;
  }
}

// The sample names every setting, and each at its default.
TEST(Toml, TheSampleFileIsWhatCellardDoesWithoutOne) {
  std::ifstream in(CELLAR_SOURCE_DIR "/deploy/cellard.toml");
  std::ostringstream sample;
  sample << in.rdbuf();
  ServerOptions options;
  const auto applied = apply_toml(sample.str(), "cellard.toml", options);
  ASSERT_TRUE(applied) << applied.error().message;
  const ServerOptions defaults;
  for (const Setting& setting : settings()) {
    const std::string key(setting.name.substr(setting.name.find('.') + 1));
    EXPECT_NE(sample.str().find("\n" + key + " = "), std::string::npos) << setting.name;
    if (setting.name == "data_dir") continue;
    if (setting.kind == Setting::Kind::text) {
      EXPECT_EQ(setting.text_of(options), setting.text_of(defaults)) << setting.name;
    } else {
      EXPECT_EQ(setting.number_of(options), setting.number_of(defaults)) << setting.name;
    }
  }
}

TEST(Toml, SectionsUnitsAndPlainNumbers) {
  ServerOptions options;
  const auto applied = apply_toml(R"(
shards = 2
pin = false
io.backend = "threads"
[memory]
total = "256MiB"
memtable = 1048576
[log]
periodic_interval = "50ms"
)",
                                  "cellar.toml", options);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(options.shards, 2u);
  EXPECT_FALSE(options.pin);
  EXPECT_EQ(options.io, IoBackend::threads);
  EXPECT_EQ(options.engine.memory_bytes, 256u << 20);
  EXPECT_EQ(options.engine.memtable_bytes, 1u << 20);
  EXPECT_EQ(options.engine.periodic_interval_us, 50'000);
}

TEST(Toml, AMisspeltKeyIsRefusedWithTheNearestName) {
  ServerOptions options;
  const auto applied = apply_toml("[memory]\ntotl = 1\n", "cellar.toml", options);
  ASSERT_FALSE(applied);
  EXPECT_NE(applied.error().message.find("cellar.toml:2"), std::string::npos)
      << applied.error().message;
  EXPECT_NE(applied.error().message.find("memory.total"), std::string::npos);
}

TEST(Toml, ValuesOfTheWrongKindAndBrokenTextAreRefused) {
  ServerOptions options;
  EXPECT_FALSE(apply_toml("shards = true", "x", options));
  EXPECT_FALSE(apply_toml("pin = 3.5", "x", options));
  EXPECT_FALSE(apply_toml("log.periodic_interval = 5", "x", options));
  EXPECT_FALSE(apply_toml("memory.total = \"5 parsecs\"", "x", options));
  EXPECT_FALSE(apply_toml("shards = [", "x", options));
}

TEST(Units, ReadWhatTheyWrite) {
  for (const int64_t n : {1l, 1024l, 1536l, 1l << 30, 5l << 40}) {
    EXPECT_EQ(*parse_size(format_size(n)), n);
    EXPECT_EQ(*parse_duration_us(format_duration(n)), n);
  }
  EXPECT_FALSE(parse_size("9999999999999TiB"));
  EXPECT_FALSE(parse_size("-1B"));
  EXPECT_FALSE(parse_duration_us("5"));
}

}  // namespace
}  // namespace cellar::server
