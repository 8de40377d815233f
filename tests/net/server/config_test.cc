#include "net/server/config/config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "net/server/config/config_pages.h"
#include "net/server/config/settings.h"
#include "net/server/control/reload.h"

namespace cellar::server {
namespace {

Result<Config> parse(std::vector<const char*> arguments, std::vector<const char*> variables = {}) {
  arguments.insert(arguments.begin(), "cellard");
  variables.push_back(nullptr);
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data(), {},
                            variables.data());
}

std::string file_of(const std::string& path) {
  std::ifstream in(CELLAR_SOURCE_DIR "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string write_file(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
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

// The sample names every setting with its default.
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

TEST(Pages, TheSampleFileIsMadeFromTheTable) {
  EXPECT_EQ(file_of("deploy/cellard.toml"), sample_config())
      << "write it anew: cellard --sample-config > deploy/cellard.toml";
}

TEST(Pages, TheReferenceIsMadeFromTheTable) {
  EXPECT_EQ(file_of("net/server/CONFIGURATION.md"), config_reference())
      << "write it anew: cellard --config-reference > net/server/CONFIGURATION.md";
}

TEST(Settings, AreFewEnoughAndSayWhatTheyMean) {
  EXPECT_LE(settings().size(), kMaxSettings);
  for (const Setting& setting : settings()) {
    EXPECT_GT(setting.help.size(), 5u) << setting.name;
    EXPECT_EQ(setting.help.find('|'), std::string_view::npos) << setting.name;
    EXPECT_EQ(find_setting(setting.name), &setting) << setting.name << " stands there twice";
  }
}

TEST(Settings, EachTakesItsOwnValueBack) {
  for (const Setting& setting : settings()) {
    ServerOptions options;
    EXPECT_TRUE(apply(setting, std::string_view(default_of(setting)), options)) << setting.name;
  }
}

TEST(Sources, AFlagWinsOverTheEnvironmentAndThatOverTheFile) {
  const std::string path = write_file("order.toml",
                                      "data_dir = \"d\"\nshards = 1\n[limits]\n"
                                      "in_flight = 3\nconnections = 4\n");
  const auto config = parse({"--config", path.c_str(), "--shards", "5"},
                            {"CELLAR_SHARDS=2", "CELLAR_LIMITS_IN_FLIGHT=7", "HOME=/"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->options.shards, 5u);
  EXPECT_EQ(config->options.net.in_flight, 7u);
  EXPECT_EQ(config->options.net.connections, 4u);
  EXPECT_EQ(config->origins.at("shards"), "--shards");
  EXPECT_EQ(config->origins.at("limits.in_flight"), "CELLAR_LIMITS_IN_FLIGHT");
  EXPECT_EQ(config->origins.at("limits.connections"), path + ":5");
  EXPECT_FALSE(config->origins.contains("memory.total"));
}

TEST(Sources, TheEnvironmentNamesTheFileAndIsCheckedAsAFileIs) {
  const std::string path = write_file("named.toml", "data_dir = \"d\"\n");
  const std::string variable = "CELLAR_CONFIG=" + path;
  EXPECT_TRUE(parse({}, {variable.c_str()}));
  const auto bounds = parse({"--data-dir", "d"}, {"CELLAR_LIMITS_IN_FLIGHT=9999"});
  ASSERT_FALSE(bounds);
  EXPECT_NE(bounds.error().message.find("CELLAR_LIMITS_IN_FLIGHT"), std::string::npos);
  const auto misspelt = parse({"--data-dir", "d"}, {"CELLAR_LIMITS_INFLIGHT=9"});
  ASSERT_FALSE(misspelt);
  EXPECT_NE(misspelt.error().message.find("did you mean CELLAR_LIMITS_IN_FLIGHT"),
            std::string::npos);
  EXPECT_TRUE(parse({"--data-dir", "d"}, {"CELLAR_ADDR=h:1", "CELLAR_BIN=x", "CELLAR_JOBS=2"}));
}

TEST(Sources, WhatIsPrintedIsAConfigurationThatSaysTheSame) {
  const auto config =
      parse({"--print-config", "--limits-cell", "1MiB"}, {"CELLAR_IO_BACKEND=threads"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_NE(config->print.find("--limits-cell\n"), std::string::npos) << config->print;
  EXPECT_NE(config->print.find("CELLAR_IO_BACKEND\n"), std::string::npos);
  EXPECT_NE(config->print.find("# default\n"), std::string::npos);
  ServerOptions options;
  const auto applied = apply_toml(config->print, "printed", options);
  ASSERT_TRUE(applied) << applied.error().message;
  for (const Setting& setting : settings()) {
    EXPECT_EQ(value_of(setting, options), value_of(setting, config->options)) << setting.name;
  }
}

TEST(Sources, CheckingAnswersWithoutStarting) {
  const auto good = parse({"--check-config", "--data-dir", "d"});
  ASSERT_TRUE(good);
  EXPECT_NE(good->print.find("in order"), std::string::npos);
  EXPECT_FALSE(parse({"--check-config"}));
  EXPECT_FALSE(parse({"--check-config", "--data-dir", "d", "--memory-total", "1B"}));
}

TEST(Reload, ChangesWhatItMayAndNamesWhatItMayNot) {
  ServerOptions running;
  ServerOptions wanted = running;
  wanted.net.in_flight = 9;
  wanted.log.format = LogFormat::json;
  wanted.engine.memory_bytes = 64u << 20;
  const ReloadPlan plan = plan_reload(running, wanted);
  ASSERT_EQ(plan.changed.size(), 2u);
  EXPECT_EQ(plan.changed[0].name, "limits.in_flight");
  EXPECT_EQ(plan.changed[0].before, "1024");
  EXPECT_EQ(plan.changed[0].after, "9");
  EXPECT_EQ(plan.options.net.in_flight, 9u);
  EXPECT_EQ(plan.options.log.format, LogFormat::json);
  ASSERT_EQ(plan.need_restart.size(), 1u);
  EXPECT_EQ(plan.need_restart[0].name, "memory.total");
  EXPECT_EQ(plan.options.engine.memory_bytes, running.engine.memory_bytes);
  EXPECT_TRUE(plan.changes("limits."));
  EXPECT_FALSE(plan.changes("balance."));
}

TEST(Reload, ReadsTheFileAgain) {
  const std::string path = write_file("again.toml", "data_dir = \"d\"\nshards = 1\n");
  std::vector<const char*> arguments = {"cellard", "--config", path.c_str()};
  const char* none = nullptr;
  const auto config = parse_command_line(3, arguments.data(), {}, &none);
  ASSERT_TRUE(config);
  write_file("again.toml", "data_dir = \"d\"\nshards = 2\n");
  EXPECT_EQ(config->reread()->options.shards, 2u);
  write_file("again.toml", "data_dir = \"d\"\nshard = 2\n");
  EXPECT_FALSE(config->reread());
}

TEST(Toml, ListsAreStringsWithCommas) {
  ServerOptions options;
  EXPECT_TRUE(apply_toml("listen = [\"a:1\", \"b:2\"]", "x", options));
  EXPECT_EQ(options.listen, "a:1,b:2");
  EXPECT_FALSE(apply_toml("listen = [1]", "x", options));
  EXPECT_FALSE(apply_toml("shards = [\"1\"]", "x", options));
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

TEST(Semaphore, ReadWhatTheyWrite) {
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
