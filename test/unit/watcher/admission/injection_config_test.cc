#include "watcher/admission/injection_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "test/unit/support/temporary_directory.h"

namespace cluster_watcher {
namespace {

namespace fs = std::filesystem;

class InjectionConfigTest : public testing::Test {
 protected:
  std::string Path(const std::string& name = "") const { return directory_.Path(name); }
  std::string Write(const std::string& name, const std::string& text) const {
    return directory_.Write(name, text);
  }
  TextMap Loaded(const std::string& path) const {
    const auto loaded = LoadInjectionConfig(path);
    if (!loaded) ADD_FAILURE() << loaded.error().message;
    return loaded ? *loaded : TextMap{};
  }
  // The error without the directory's path.
  std::string ErrorOf(const std::string& path) const {
    const auto loaded = LoadInjectionConfig(path);
    if (loaded) return "";
    std::string error = loaded.error().message;
    const std::string prefix = Path() + "/";
    const std::size_t at = error.find(prefix);
    EXPECT_NE(at, std::string::npos) << error;
    return at == std::string::npos ? error : error.erase(at, prefix.size());
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(InjectionConfigTest, ReadsAMountedConfigMap) {
  Write("map/..2026_01_01/image", "cluster-watcher:0.1.0\n");
  Write("map/..2026_01_01/tokenAudience", "");
  Write("map/..2026_01_01/default.dry-run", "true\n\n");
  fs::create_directory_symlink("..2026_01_01", Path("map/..data"));
  for (const char* key : {"image", "tokenAudience", "default.dry-run"}) {
    fs::create_symlink(std::string("..data/") + key, Path(std::string("map/") + key));
  }
  EXPECT_EQ(Loaded(Path("map")), (TextMap{{"image", "cluster-watcher:0.1.0"},
                                          {"tokenAudience", ""},
                                          {"default.dry-run", "true\n"}}));
}

TEST_F(InjectionConfigTest, AnUnreadableKeyIsAnError) {
  fs::create_directory(Path("map"));
  fs::create_symlink("nowhere", Path("map/image"));
  EXPECT_EQ(ErrorOf(Path("map")), "map/image can't be read: No such file or directory");
  fs::create_directory(Path("loop"));
  fs::create_symlink("image", Path("loop/image"));
  EXPECT_EQ(ErrorOf(Path("loop")), "loop/image can't be read: Too many levels of symbolic links");
  EXPECT_EQ(ErrorOf(Path("missing")), "missing can't be read: No such file or directory");
}

TEST_F(InjectionConfigTest, ReadsAManifest) {
  const TextMap wanted = {{"image", "cluster-watcher:0.1.0"}, {"port", "9191"}, {"scrape", "true"}};
  EXPECT_EQ(Loaded(Write("yaml",
                         "# the injection\napiVersion: v1\nkind: ConfigMap\nmetadata:\n"
                         "  name: x\ndata:\n  image: cluster-watcher:0.1.0\n"
                         "  port: \"9191\"\n  scrape: |\n    true\n")),
            wanted);
  EXPECT_EQ(Loaded(Write("json", R"({"apiVersion":"v1","kind":"ConfigMap","data":
      {"image":"cluster-watcher:0.1.0","port":"9191","scrape":"true"}})")),
            wanted);
  EXPECT_EQ(Loaded(Write("empty", "kind: ConfigMap\n")), TextMap{});
}

TEST_F(InjectionConfigTest, PassesOverOtherObjects) {
  const std::string other = "kind: Namespace\n---\n---\n- 1\n---\n";
  const std::string first = "kind: ConfigMap\nmetadata: {name: a}\ndata: {image: a}\n---\n";
  const std::string second =
      "kind: ConfigMap\nmetadata: {name: cluster-watcher}\ndata: {image: b}\n";
  EXPECT_EQ(Loaded(Write("one", other + first)), (TextMap{{"image", "a"}}));
  EXPECT_EQ(Loaded(Write("two", other + first + second)), (TextMap{{"image", "b"}}));
  EXPECT_EQ(ErrorOf(Write("twice", first + first)),
            "twice: none of the ConfigMaps in it is called cluster-watcher");
}

TEST_F(InjectionConfigTest, SaysWhatIsWrongWithAManifest) {
  EXPECT_EQ(ErrorOf(Write("none", "kind: Secret\n")),
            "none: there is no ConfigMap in it: give the manifest of the ConfigMap "
            "cluster-watcher, or a directory with one file for each key");
  EXPECT_EQ(ErrorOf(Write("broken", "kind: ConfigMap\ndata: [\n")).find("broken, line "), 0u);
  EXPECT_EQ(ErrorOf(Write("list", "kind: ConfigMap\ndata: [a]\n")),
            "list, line 2: the ConfigMap's data is no map");
  for (const char* value : {"9191", "true", "[]", "", "~", "1e3", "{}"}) {
    const std::string text = std::string("kind: ConfigMap\ndata:\n  port: ") + value + "\n";
    EXPECT_EQ(ErrorOf(Write("number", text)), "number, line 3: \"port\" is no text: quote it")
        << value;
  }
  EXPECT_EQ(ErrorOf(Write("again", "kind: ConfigMap\ndata:\n  port: \"1\"\n  port: \"2\"\n")),
            "again, line 4: \"port\" is there twice");
}

}  // namespace
}  // namespace cluster_watcher
