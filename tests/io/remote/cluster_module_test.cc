// Loading libcellar_cluster.so, and that nothing else is linked with librados.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "io/base/random.h"
#include "io/loop/shard_loop.h"
#include "io/remote/rados/librados_handle.h"

namespace cellar {
namespace {

using testing::HasSubstr;
using testing::Not;

Error error_of_module(const std::string& path) {
  const auto api = load_cluster_module(path);
  EXPECT_FALSE(api);
  return api ? Error() : api.error();
}

TEST(ClusterModule, OneThatIsMissingIsNamed) {
  const Error error = error_of_module("/no/such/libcellar_cluster.so");
  EXPECT_EQ(error.code, Errc::failed_precondition);
  EXPECT_THAT(error.message, HasSubstr("'/no/such/libcellar_cluster.so'"));
  EXPECT_THAT(error.message, HasSubstr("cannot open shared object file"));
}

TEST(ClusterModule, AnotherLibraryIsNone) {
  const Error error = error_of_module("libm.so.6");
  EXPECT_EQ(error.code, Errc::failed_precondition);
  EXPECT_THAT(error.message, HasSubstr("'libm.so.6' is no cluster module"));
}

TEST(ClusterModule, OneOfAnotherVersionIsRefusedWithBothVersions) {
  const Error error = error_of_module(CELLAR_MODULE_OF_ANOTHER_VERSION);
  EXPECT_EQ(error.code, Errc::failed_precondition);
  EXPECT_THAT(error.message, HasSubstr(CELLAR_MODULE_OF_ANOTHER_VERSION));
  EXPECT_THAT(error.message, HasSubstr(fmt::format("version {}, and this program needs version {}",
                                                   CELLAR_CLUSTER_ABI + 1, CELLAR_CLUSTER_ABI)));
}

#ifdef CELLAR_CLUSTER_MODULE
Error error_of_open(const CephConfig& config) {
  ShardLoop loop;
  BlockingPool pool(1);
  const auto handle = block_on(loop, LibradosHandle::open(pool, config, 1));
  EXPECT_FALSE(handle);
  return handle ? Error() : handle.error();
}

TEST(ClusterModule, IsFoundBesideTheProgramAndSaysItsLibrary) {
  EXPECT_TRUE(std::filesystem::equivalent(default_cluster_module(), CELLAR_CLUSTER_MODULE));
  const auto api = load_cluster_module(default_cluster_module());
  ASSERT_TRUE(api) << api.error().to_string();
  EXPECT_EQ((*api)->abi, static_cast<uint32_t>(CELLAR_CLUSTER_ABI));
  EXPECT_THAT((*api)->library, HasSubstr("librados "));
}

TEST(ClusterModule, WithoutAConfigurationTheSettingIsNamed) {
  CephConfig config;
  EXPECT_THAT(error_of_open(config).message, HasSubstr("ceph.config"));
  config.config_file = "/no/such/ceph.conf";
  const Error error = error_of_open(config);
  EXPECT_EQ(error.code, Errc::failed_precondition);
  EXPECT_THAT(error.message, HasSubstr("'/no/such/ceph.conf'"));
}

TEST(ClusterModule, AConfigurationThatCephRejectsIsNamedWithItsReason) {
  const auto file =
      std::filesystem::temp_directory_path() / fmt::format("ceph-{:016x}.conf", entropy_seed());
  std::FILE* const out = std::fopen(file.c_str(), "w");
  ASSERT_NE(out, nullptr);
  std::fputs("[global]\nmon host = 127.0.0.1:1\nauth client required = none\n", out);
  std::fclose(out);
  CephConfig config;
  config.config_file = file;
  config.monitor_timeout_s = 1;
  const Error error = error_of_open(config);
  EXPECT_THAT(error.message, HasSubstr(file.string()));
  EXPECT_THAT(error.message, HasSubstr("connecting to the monitors"));
  std::filesystem::remove(file);
}
#endif

std::string libraries_of(const std::string& program) {
  std::string all;
  std::FILE* const out = ::popen(("ldd '" + program + "'").c_str(), "r");
  if (out == nullptr) return all;
  std::array<char, 4096> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), out)) {
    all.append(part.data(), size);
  }
  EXPECT_EQ(::pclose(out), 0) << program;
  return all;
}

TEST(ClusterModule, NoProgramIsLinkedWithLibrados) {
  for (const std::string program : {CELLAR_PROGRAMS}) {
    const std::string libraries = libraries_of(program);
    EXPECT_THAT(libraries, HasSubstr("libc.so")) << program;
    EXPECT_THAT(libraries, Not(HasSubstr("rados"))) << program;
  }
#ifdef CELLAR_CLUSTER_MODULE
  EXPECT_THAT(libraries_of(CELLAR_CLUSTER_MODULE), HasSubstr("librados.so"));
#endif
}

}  // namespace
}  // namespace cellar
