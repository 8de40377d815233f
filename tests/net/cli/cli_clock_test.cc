// The clock through the command line and the client: shown, held, confirmed.
#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

constexpr int64_t kDayUs = 86'400'000'000;

class CliClock : public ClockedCliBed {
 protected:
  client::SyncClient& client() { return client_; }

 private:
  client::SyncClient client_{[this] {
    client::ClientOptions options;
    options.address = address();
    return options;
  }()};
};

TEST_F(CliClock, IsShown) {
  const std::string shown = good({"clock"});
  EXPECT_EQ(shown.find("trusted time  2026-04-30T09:00:00Z\n"
                       "wall clock    2026-04-30T09:00:00Z\n"
                       "held time     none\n"
                       "kernel        says its clock is synchronised; steady for "),
            0u)
      << shown;
  EXPECT_EQ(good({"clock", "--json"})
                .find("{\"trusted_us\":1777539600000000,"
                      "\"wall_us\":1777539600000000,\"held_us\":0,"
                      "\"synchronised\":true,"),
            0u);
  EXPECT_EQ(good({"clock", "confirm"}), "no time is held\n");
  refused({"clock", "reset"}, kUsage, "clock takes confirm, or nothing");
}

TEST_F(CliClock, ATimeThatIsHeldIsReleasedBySomeoneWhoWasShownWhatDies) {
  good({"createtable", "held", "families=a:maxage=2d,b:maxversions=3 and maxage=7d,c"});
  good({"set", "held", "r", "a:q=1@2026-04-30T08:00:00Z"});
  jump_wall_us(kStartUs + 41 * kDayUs);
  const std::string shown = good({"clock"});
  EXPECT_NE(shown.find("trusted time  2026-04-30T09:00:00Z\nwall clock    2026-06-10T09:00:00Z\n"
                       "held time     41 d 0 h\n"),
            std::string::npos)
      << shown;
  EXPECT_NE(good({"lookup", "held", "r"}).find("a:q"), std::string::npos) << "it lives on";

  refused({"clock", "confirm"}, kUsage, "add --yes");
  const Outcome no = at_terminal({"clock", "confirm"}, "\n");
  EXPECT_EQ(no.code, kFailed);
  EXPECT_EQ(no.out,
            "41 d 0 h would pass at once: from 2026-04-30T09:00:00Z to 2026-06-10T09:00:00Z.\n"
            "Then are dead, at most:\n"
            "  TABLE  FAMILY  RULE                         CELLS STAMPED AFTER   UP TO\n"
            "  held   a       maxage=2d                    2026-04-28T09:00:00Z  "
            "2026-06-08T09:00:00Z\n"
            "  held   b       maxversions=3 and maxage=7d  2026-04-23T09:00:00Z  "
            "2026-06-03T09:00:00Z\n"
            "And cells whose own expiry lies between the two; undo windows that end there close.\n"
            "Is the wall clock right? [y/N] nothing was changed\n");
  EXPECT_GT(client().clock()->held_us, 0);

  const Outcome yes = at_terminal({"clock", "confirm"}, "y\n");
  EXPECT_EQ(yes.code, kDone) << yes.out;
  EXPECT_NE(yes.out.find("[y/N] trusted time is 2026-06-10T09:00:00Z\n"), std::string::npos)
      << yes.out;
  EXPECT_EQ(client().clock()->held_us, 0);
  EXPECT_EQ(cellar({"lookup", "held", "r"}).code, kNotFound) << "it is dead";
}

TEST_F(CliClock, NoMoreIsReleasedThanWasSeen) {
  const int64_t now_us = client().clock()->trusted_us;
  jump_wall_us(now_us + 10 * kDayUs);
  const auto refused_report = client().confirm_time(9 * kDayUs);
  ASSERT_FALSE(refused_report);
  EXPECT_EQ(refused_report.error().code, Errc::failed_precondition);
  EXPECT_NE(refused_report.error().message.find("10d are held, more than"), std::string::npos)
      << refused_report.error().message;
  EXPECT_EQ(client().clock()->trusted_us, now_us);
  const auto released = client().confirm_time(10 * kDayUs);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(released->trusted_us, now_us + 10 * kDayUs);
  EXPECT_EQ(released->held_us, 0);
  const auto again = client().confirm_time(0);
  ASSERT_TRUE(again) << "nothing is held";
  EXPECT_EQ(again->trusted_us, released->trusted_us);
  const std::string json = good({"clock", "confirm", "--json"});
  EXPECT_NE(json.find("\"held_us\":0"), std::string::npos) << json;
}

TEST_F(CliClock, WithYesItIsReleasedWithoutAQuestion) {
  const int64_t now_us = client().clock()->trusted_us;
  jump_wall_us(now_us + kDayUs);
  const std::string json = good({"clock", "confirm", "--yes", "--json"});
  EXPECT_NE(json.find(fmt::format("{{\"trusted_us\":{},", now_us + kDayUs)), std::string::npos)
      << json;
}

}  // namespace
}  // namespace cellar::cli
