//! `codeskim setup` and `codeskim doctor` on configurations as people have them: with comments, other servers, tabs, read-only and broken.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{BINARY, codeskim};

/// A client, its file below the user's directory, and what is in it before.
const CONFIGURATIONS: &[(&str, &str, &str)] = &[
    (
        "claude-code",
        ".claude.json",
        "{\n  \"numStartups\": 41,\n  \"theme\": \"dark\",\n  \"projects\": {\n    \"/home/me/site\": { \"allowedTools\": [], \"mcpServers\": {} }\n  },\n  \
         \"mcpServers\": {\n    \"github\": {\n      \"type\": \"http\",\n      \"url\": \"https://example.com/mcp\"\n    }\n  },\n  \"userID\": \"0f0f\"\n}\n",
    ),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", "{\"globalShortcut\": \"Ctrl+Space\"}"),
    (
        "codex",
        ".codex/config.toml",
        "# what I use\nmodel = \"gpt-6.1\"   # for now\napproval_policy = \"on-request\"\n\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"-y\", \"docs-mcp\"]\n\n\
         [profiles.fast]\nmodel_reasoning_effort = \"low\"\n",
    ),
    (
        "continue",
        ".continue/config.yaml",
        "name: Mine\nversion: 1.0.0\nschema: v1\n# local models\nmodels:\n  - name: Qwen\n    provider: ollama\n    model: qwen3:8b\nmcpServers:\n  # browses\n  - name: web\n    \
         command: npx\n    args: [\"-y\", \"web-mcp\"]\ncontext:\n  - provider: diff\n",
    ),
    ("copilot", ".copilot/mcp-config.json", "{\n  \"mcpServers\": {}\n}\n"),
    (
        "cursor",
        ".cursor/mcp.json",
        "{\n\t\"mcpServers\": {\n\t\t\"db\": {\"command\": \"uvx\", \"args\": [\"db-mcp\"], \"env\": {\"URL\": \"x\"}}\n\t}\n}\n",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\n    \"security\": {\n        \"auth\": { \"selectedType\": \"oauth-personal\" }\n    },\n    \"ui\": { \"theme\": \"Atom One\" }\n}",
    ),
    (
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // the big one\n  \"model\": \"anthropic/claude\",\n  \"mcp\": {\n    \"web\": { \"type\": \"remote\", \"url\": \
         \"https://example.com\" }, // mine\n  },\n}\n",
    ),
    ("openhands", ".openhands/mcp.json", "{\"mcpServers\": {\"fetch\": {\"command\": \"uvx\", \"args\": [\"mcp-server-fetch\"]}}}\n"),
    ("qwen", ".qwen/settings.json", ""),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        "{\r\n\t// servers for everything\r\n\t\"servers\": {\r\n\t\t\"play\": {\r\n\t\t\t\"command\": \"npx\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"play-mcp\"\r\n\t\t\t]\r\n\t\t}\r\n\t},\r\n\t\"inputs\": []\r\n}\r\n",
    ),
    (
        "zed",
        ".config/zed/settings.json",
        "// Zed settings\n//\n// To see all of Zed's default settings, run `zed: open default settings`\n{\n  \"vim_mode\": true,\n  /* fonts */\n  \"buffer_font_size\": 14,\n  \"languages\": {\n    \
         \"Rust\": { \"tab_size\": 4, },\n  },\n}\n",
    ),
];

/// A user's directory with one configuration in it, or none.
struct Home(tempfile::TempDir);

impl Home {
    fn with(file: &str, text: &str) -> Self {
        let home = Self(tempfile::tempdir().expect("a directory"));
        std::fs::create_dir_all(home.path(file).parent().expect("a directory")).expect("created");
        std::fs::write(home.path(file), text).expect("written");
        home
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.path(file)).expect("a file")
    }

    /// Status and all that was said, with this machine's paths named.
    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = Command::new(BINARY);
        for name in ["CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "CODESKIM_LEDGER"] {
            command.env_remove(name);
        }
        let output =
            command.args(arguments).env("HOME", self.0.path()).current_dir(self.0.path()).stdin(Stdio::null()).output().expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code().expect("a status"), self.named(&String::from_utf8(said).expect("UTF-8")))
    }

    fn named(&self, text: &str) -> String {
        let home = self.0.path().canonicalize().expect("a path");
        let text =
            text.replace(&home.display().to_string(), "~").replace(&self.0.path().display().to_string(), "~").replace(BINARY, "CODESKIM");
        let long = |part: &str| part.len() == 10 && part.bytes().all(|byte| byte.is_ascii_digit());
        text.split('.').map(|part| if long(part) { "TIME" } else { part }).collect::<Vec<_>>().join(".")
    }

    fn files(&self, file: &str) -> usize {
        std::fs::read_dir(self.path(file).parent().expect("a directory")).expect("a directory").count()
    }
}

#[test]
#[cfg(target_os = "linux")]
fn every_client_is_set_up_and_put_back() {
    let mut shown = String::new();
    for (client, file, before) in CONFIGURATIONS {
        let home = Home::with(file, before);
        let (status, said) = home.run(&["setup", client, "--yes"]);
        assert_eq!(status, 0, "{client}: {said}");
        shown += &format!("== {client}\n{said}\n");
        let files = home.files(file);
        let after = home.text(file);
        assert!(after.contains(BINARY), "{client}: {after}");
        let (status, said) = home.run(&["setup", client, "--yes"]);
        assert!(status == 0 && said.contains("already set up"), "{client}: {said}");
        assert_eq!((home.text(file), home.files(file)), (after, files), "{client}: nothing more is done");
        let (status, said) = home.run(&["doctor"]);
        assert!(said.contains("starts CODESKIM") && status == 0, "{client}: {said}");
        assert_eq!(home.run(&["setup", client, "--remove", "--yes"]).0, 0, "{client}");
        let (back, was) = (home.text(file), *before);
        let words = |text: &str| {
            text.split(|c: char| c.is_whitespace() || "{}[],:".contains(c))
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let left: Vec<String> = words(&back).into_iter().filter(|word| !words(was).contains(word)).collect();
        assert!(
            left.iter().all(|word| ["mcpServers", "context_servers", "mcp", "name", "Local", "Config", "version", "1.0.0", "schema", "v1"]
                .contains(&word.trim_matches('"'))),
            "{client}: {left:?}"
        );
        assert!(words(was).iter().all(|word| words(&back).contains(word)), "{client}: {back}");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn what_a_user_added_to_the_entry_stays() {
    let cases = [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\"codeskim\": {\"command\": \"/old/codeskim\", \"env\": {\"CODESKIM_LOG\": \"info\"}, \"disabled\": true}}}",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.codeskim]\ncommand = \"/old/codeskim\"\nstartup_timeout_sec = 20 # slow disk\n[mcp_servers.codeskim.env]\nCODESKIM_LOG = \"info\"\n",
        ),
        (
            "continue",
            ".continue/config.yaml",
            "mcpServers:\n- command: /old/codeskim\n  args:\n  - --keep\n  - strict\n  # what it says\n  env:\n    CODESKIM_LOG: info\n  name: codeskim\n- name: other\n  command: x\n",
        ),
    ];
    let mut texts = String::new();
    for (client, file, before) in cases {
        let home = Home::with(file, before);
        assert_eq!(home.run(&["setup", client, "--yes", "--keep", "generous", "--root", "."]).0, 0, "{client}");
        texts += &format!("== {client}\n{}\n", home.named(&home.text(file)));
    }
    insta::assert_snapshot!(texts, @r#"
    == cursor
    {"mcpServers": {"codeskim": {
          "command": "CODESKIM",
          "env": {"CODESKIM_LOG": "info"},
          "disabled": true,
          "args": ["--root", "~", "--keep", "generous"]
        }}}

    == codex
    [mcp_servers.codeskim]
    command = "CODESKIM"
    startup_timeout_sec = 20 # slow disk
    args = ["--root", "~", "--keep", "generous"]
    [mcp_servers.codeskim.env]
    CODESKIM_LOG = "info"

    == continue
    mcpServers:
    - command: "CODESKIM"
      args:
        - "--root"
        - "~"
        - "--keep"
        - "generous"
      # what it says
      env:
        CODESKIM_LOG: info
      name: codeskim
    - name: other
      command: x
    "#);
}

#[test]
fn comments_beside_the_entry_stay_when_it_comes_and_goes() {
    let toml = "model = \"a\"\n\n# off for now\n# [mcp_servers.foo]\n\n[mcp_servers.codeskim]\n# old\ncommand = \"old\" # mine\n\
        [mcp_servers.codeskim.env]\nA = \"1\"\n\n# fast\n[profiles.fast]\nx = 1\n# end\n";
    let yaml = "name: A\nmcpServers: [] # see the wiki\n";
    let marked = "\u{feff}{\"mcpServers\": {}} // mine\n";
    let mut texts = String::new();
    for (client, file, before) in
        [("codex", ".codex/config.toml", toml), ("continue", ".continue/config.yaml", yaml), ("cursor", ".cursor/mcp.json", marked)]
    {
        let home = Home::with(file, before);
        for arguments in [&["setup", client, "--yes"][..], &["setup", client, "--remove", "--yes"]] {
            assert_eq!(home.run(arguments).0, 0, "{client}");
            texts += &format!("== {client}\n{}\n", home.named(&home.text(file)).replace('\u{feff}', "MARK"));
        }
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn what_is_written_otherwise_is_not_said_to_be_gone() {
    for list in
        ["mcpServers: [{name: codeskim, command: b}]\n", "\"mcpServers\":\n- name: codeskim\n", "mcpServers:\n  -\n    name: codeskim\n"]
    {
        let home = Home::with(".continue/config.yaml", list);
        let (status, said) = home.run(&["setup", "continue", "--remove", "--yes"]);
        assert!(status == 2 && said.contains("written in a way that is not understood"), "{list}: {said}");
    }
}

#[test]
fn line_ends_stay_as_they_are() {
    for (client, file, before) in CONFIGURATIONS {
        let home = Home::with(file, &before.replace("\r\n", "\n").replace('\n', "\r\n"));
        for arguments in [&["setup", client, "--yes"][..], &["setup", client, "--remove", "--yes"]] {
            assert_eq!(home.run(arguments).0, 0, "{client}");
            let text = home.text(file);
            let bare = text.replace("\r\n", "").contains('\n');
            assert!(!before.contains('\n') || !bare, "{client}: {text:?}");
        }
    }
}

#[test]
fn every_change_keeps_the_file_before_it() {
    let home = Home::with(".cursor/mcp.json", "{}\n");
    for keep in ["strict", "generous", "balanced"] {
        assert_eq!(home.run(&["setup", "cursor", "--yes", "--keep", keep]).0, 0);
    }
    assert_eq!(home.files(".cursor/mcp.json"), 4);
    let files = std::fs::read_dir(home.path(".cursor")).expect("a directory").flatten();
    assert!(files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).any(|text| text == "{}\n"));
}

#[test]
#[cfg(unix)]
fn a_new_configuration_is_as_readable_as_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with("other", "");
    assert_eq!(home.run(&["setup", "claude-code", "--project", "--yes"]).0, 0);
    let mode = |file: &str| std::fs::metadata(home.path(file)).expect("a file").permissions().mode();
    assert_eq!(mode(".mcp.json"), mode("other"));
}

#[test]
fn a_configuration_that_is_broken_or_protected_is_left_alone() {
    let mut said = String::new();
    let broken = [
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": {\"a\": {}"),
        ("cursor", ".cursor/mcp.json", "[]"),
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": [1]}"),
        ("gemini", ".gemini/settings.json", "{'a': 1}"),
        ("codex", ".codex/config.toml", "model = \n"),
        ("codex", ".codex/config.toml", "mcp_servers = 3\n"),
        ("continue", ".continue/config.yaml", "name: [\n"),
        ("continue", ".continue/config.yaml", "mcpServers: {a: 1}\n"),
        ("gemini", ".gemini/settings.json", "{\"mcpServers\": {\"codeskim\": {\"httpUrl\": \"http://127.0.0.1:8000/mcp\"}}}"),
    ];
    for (client, file, text) in broken {
        let home = Home::with(file, text);
        let (status, why) = home.run(&["setup", client, "--yes"]);
        assert_eq!((status, home.text(file).as_str(), home.files(file)), (2, text, 1), "{client}: {why}");
        said += &why;
    }
    let home = Home::with(".cursor/mcp.json", "{}\n");
    let mut permissions = std::fs::metadata(home.path(".cursor/mcp.json")).expect("a file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(home.path(".cursor/mcp.json"), permissions).expect("read-only");
    let (status, why) = home.run(&["setup", "cursor", "--yes"]);
    assert_eq!((status, home.text(".cursor/mcp.json").as_str(), home.files(".cursor/mcp.json")), (2, "{}\n", 1));
    said += why.lines().last().unwrap_or_default();
    insta::assert_snapshot!(said);
}

/// Opening a FIFO waits for its writer; a device never ends.
#[test]
#[cfg(unix)]
fn a_configuration_that_is_no_file_is_refused_at_once() {
    let fifo = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
    let socket = |path: &Path| drop(std::os::unix::net::UnixListener::bind(path).expect("bound"));
    let device = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).expect("linked");
    for make in [&fifo as &dyn Fn(&Path), &socket, &device] {
        for (client, file) in
            [("cursor", ".cursor/mcp.json"), ("codex", ".codex/config.toml"), ("opencode", ".config/opencode/plugin/codeskim.js")]
        {
            let home = Home::with("a/b.txt", "x");
            std::fs::create_dir_all(home.path(file).parent().expect("a directory")).expect("created");
            make(&home.path(file));
            let hook = if client == "opencode" { vec!["--hook"] } else { Vec::new() };
            for arguments in [[vec!["setup", client, "--yes"], hook].concat(), vec!["setup", client, "--remove", "--yes"]] {
                let (status, said) = home.run(&arguments);
                let refused = if home.path(file).is_symlink() && client == "opencode" {
                    "is a link"
                } else {
                    "is not a regular file (a pipe, socket or device)"
                };
                assert!(status == 2 && said.contains(refused), "{arguments:?}: {said}");
            }
            if client != "opencode" {
                assert!(home.run(&["doctor"]).1.contains("is not a regular file"), "{client}");
            }
        }
    }
}

#[test]
fn nothing_is_written_without_consent() {
    let home = Home::with(".cursor/mcp.json", "{}\n");
    let (status, said) = home.run(&["setup", "cursor"]);
    assert_eq!((status, home.text(".cursor/mcp.json").as_str()), (2, "{}\n"), "{said}");
    assert!(said.ends_with("codeskim: Nothing was written, as nobody can be asked here; give --yes to write it.\n"), "{said}");
    let (status, said) = home.run(&["setup", "cursor", "--dry-run"]);
    assert_eq!((status, home.text(".cursor/mcp.json").as_str()), (0, "{}\n"), "{said}");
    assert_eq!(
        home.run(&["setup", "copilot", "--project", "--yes"]).1,
        "codeskim: Copilot CLI has no configuration of single projects; leave --project out.\n"
    );
}

#[test]
#[cfg(unix)]
fn a_link_to_a_configuration_stays_one() {
    let home = Home::with("dotfiles/mcp.json", "{}\n");
    std::fs::create_dir_all(home.path(".cursor")).expect("created");
    std::os::unix::fs::symlink(home.path("dotfiles/mcp.json"), home.path(".cursor/mcp.json")).expect("a link");
    assert_eq!(home.run(&["setup", "cursor", "--yes"]).0, 0);
    assert!(home.path(".cursor/mcp.json").is_symlink() && home.text("dotfiles/mcp.json").contains("codeskim"));
    std::fs::remove_file(home.path("dotfiles/mcp.json")).expect("removed");
    let (status, said) = home.run(&["setup", "cursor", "--yes"]);
    assert!(status == 2 && said.contains("is a link to a file that is not there; make that file, or remove the link."), "{said}");
    assert!(home.path(".cursor/mcp.json").is_symlink());
}

#[test]
fn the_hook_is_put_beside_others_only_when_asked_and_taken_out_again() {
    const SETTINGS: &str = ".claude/settings.json";
    let before = "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"lint\" }] }\n    ]\n  }\n}\n";
    let home = Home::with(SETTINGS, before);
    assert_eq!(home.run(&["setup", "claude-code", "--yes"]).0, 0);
    assert_eq!(home.text(SETTINGS), before);
    assert_eq!(home.run(&["setup", "claude-code", "--hook=steer", "--yes"]).0, 0);
    insta::assert_snapshot!(home.named(&home.text(SETTINGS)), @r#"
    {
      "hooks": {
        "PreToolUse": [
          { "matcher": "Bash", "hooks": [{ "type": "command", "command": "lint" }] },
          {
            "matcher": "Read|Grep",
            "hooks": [
              {
                "type": "command",
                "command": "'CODESKIM' hook claude-code"
              }
            ]
          }
        ]
      }
    }
    "#);
    assert!(home.run(&["setup", "claude-code", "--hook=steer", "--yes"]).1.contains("already set up"));
    assert_eq!(home.run(&["setup", "claude-code", "--remove", "--yes"]).0, 0);
    let left: serde_json::Value = serde_json::from_str(&home.text(SETTINGS)).expect("JSON");
    assert_eq!(left, serde_json::from_str::<serde_json::Value>(before).expect("JSON"));
    let shared = "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Read\", \"hooks\": [{\"type\": \"command\", \"command\": \"'/old/codeskim' hook claude-code\"}, \
        {\"type\": \"command\", \"command\": \"'/opt/webhook' hook claude-code\"}]}]}}";
    let home = Home::with(SETTINGS, shared);
    assert_eq!(home.run(&["setup", "claude-code", "--hook=steer", "--yes"]).0, 0);
    assert!(
        home.text(SETTINGS).contains("'/opt/webhook' hook claude-code") && !home.text(SETTINGS).contains("/old/"),
        "{}",
        home.text(SETTINGS)
    );
    assert_eq!(home.run(&["setup", "claude-code", "--remove", "--yes"]).0, 0);
    let left: serde_json::Value = serde_json::from_str(&home.text(SETTINGS)).expect("JSON");
    let others = serde_json::json!([{ "matcher": "Read", "hooks": [{ "type": "command", "command": "'/opt/webhook' hook claude-code" }] }]);
    assert_eq!(left["hooks"]["PreToolUse"], others);
    assert_eq!(home.run(&["setup", "claude-code", "--hook=steer", "--yes", "--root", "."]).0, 0);
    assert!(home.named(&home.text(SETTINGS)).contains("'CODESKIM' hook claude-code --root '~'"), "{}", home.text(SETTINGS));
    assert_eq!(home.run(&["setup", "claude-code", "--hook=steer", "--yes"]).0, 0);
    assert_eq!(home.text(SETTINGS).matches("hook claude-code").count(), 2, "the other one and one of codeskim's: {}", home.text(SETTINGS));
    let said = home.run(&["setup", "cursor", "--hook"]).1;
    assert_eq!(said, "codeskim: Cursor has no hooks by which codeskim could prune; leave --hook out.\n");
}

#[test]
fn the_hook_that_prunes_takes_the_place_of_the_one_that_steers() {
    const SETTINGS: &str = ".claude/settings.json";
    let home = Home::with(SETTINGS, "{}\n");
    assert_eq!(home.run(&["setup", "claude-code", "--hook=steer", "--yes"]).0, 0);
    assert_eq!(home.run(&["setup", "claude-code", "--hook", "--yes"]).0, 0);
    let hooks: serde_json::Value = serde_json::from_str(&home.text(SETTINGS)).expect("JSON");
    let matchers =
        |event: &str| hooks["hooks"][event].as_array().map(|all| all.iter().map(|one| one["matcher"].clone()).collect::<Vec<_>>());
    assert_eq!(matchers("PostToolUse"), Some(vec!["Read|Grep|Bash".into()]));
    assert_eq!(matchers("PreToolUse"), Some(vec!["Write".into()]));
    assert!(home.run(&["setup", "claude-code", "--hook", "--yes"]).1.contains("already set up"));
    assert_eq!(home.run(&["setup", "claude-code", "--hook=steer", "--yes"]).0, 0);
    assert!(!home.text(SETTINGS).contains("Read|Grep|Bash"), "{}", home.text(SETTINGS));
    assert_eq!(home.run(&["setup", "claude-code", "--remove", "--yes"]).0, 0);
    assert!(!home.text(SETTINGS).contains("codeskim"), "{}", home.text(SETTINGS));
}

#[test]
fn only_what_codeskim_wrote_is_replaced_or_removed() {
    for (client, file) in [("opencode", ".config/opencode/plugin/codeskim.js"), ("copilot", ".copilot/hooks/codeskim.json")] {
        let home = Home::with(file, "mine\n");
        for arguments in [["setup", client, "--hook", "--yes"].as_slice(), &["setup", client, "--remove", "--yes"]] {
            let (status, said) = home.run(arguments);
            assert!(status == 2 && said.contains("is not as codeskim writes it, and is left alone"), "{said}");
            assert_eq!(home.text(file), "mine\n");
        }
        std::fs::remove_file(home.path(file)).expect("removed");
        assert_eq!(home.run(&["setup", client, "--hook", "--yes"]).0, 0);
        let written = home.text(file);
        let (status, said) = home.run(&["setup", client, "--remove", "--yes"]);
        assert!(status == 0 && said.contains(" is removed. The old one is "), "{said}");
        let directory = home.path(file).parent().expect("a directory").to_owned();
        let kept = std::fs::read_dir(directory).expect("a directory").next().expect("a copy").expect("an entry").path();
        assert_eq!(std::fs::read_to_string(kept).expect("a file"), written);
    }
}

#[cfg(unix)]
#[test]
fn a_project_does_not_lead_setup_elsewhere() {
    use std::os::unix::fs::symlink;

    for (client, link, to) in [
        ("opencode", ".opencode/plugin/codeskim.js", "secret"),
        ("opencode", ".opencode", "elsewhere"),
        ("opencode", "opencode.json", "secret"),
        ("claude-code", ".mcp.json", "secret"),
        ("claude-code", ".claude", "elsewhere"),
        ("gemini", ".gemini/settings.json", "secret"),
    ] {
        let home = Home::with("project/a.txt", "x");
        let outside = tempfile::tempdir().expect("a directory");
        std::fs::write(outside.path().join("secret"), "{}\n").expect("written");
        std::fs::create_dir(outside.path().join("elsewhere")).expect("created");
        let link = home.path("project").join(link);
        std::fs::create_dir_all(link.parent().expect("a directory")).expect("created");
        symlink(outside.path().join(to), &link).expect("linked");
        for arguments in [["--hook", "--yes"].as_slice(), &["--remove", "--yes"]] {
            let all = [["setup", client, "--project"].as_slice(), arguments].concat();
            let run =
                Command::new(BINARY).args(all).env("HOME", home.0.path()).current_dir(home.path("project")).output().expect("it runs");
            let said = String::from_utf8(run.stderr).expect("UTF-8");
            assert!(run.status.code() == Some(2) && said.contains("leads out of the project"), "{client} {arguments:?}: {said}");
            assert!(link.is_symlink());
            assert_eq!(std::fs::read_to_string(outside.path().join("secret")).expect("a file"), "{}\n");
            assert_eq!(std::fs::read_dir(outside.path().join("elsewhere")).expect("a directory").count(), 0);
        }
    }
}

#[test]
fn half_a_character_is_no_fault_of_a_configuration() {
    let before = r#"{"history": ["cut \ud83d", "\ud83d\ude00", "\uDE00", "a \\ud83d"], "mcpServers": {}}"#;
    let home = Home::with(".claude.json", before);
    assert_eq!(home.run(&["setup", "claude-code", "--yes"]).0, 0);
    let history = r#""history": ["cut \ud83d", "\ud83d\ude00", "\uDE00", "a \\ud83d"]"#;
    assert!(home.text(".claude.json").contains(history) && home.text(".claude.json").contains("codeskim"), "{}", home.text(".claude.json"));
    assert!(!home.run(&["doctor"]).1.contains("not valid JSON"));
    assert!(home.run(&["setup", "claude-code", "--yes"]).1.contains("already set up"));
    assert_eq!(home.run(&["setup", "claude-code", "--remove", "--yes"]).0, 0);
    assert!(home.text(".claude.json").contains(history) && !home.text(".claude.json").contains("codeskim"));
}

#[test]
fn lines_that_end_in_two_ways_stay_as_they_are() {
    let mixed = "[mcp_servers.web]\r\ncommand = \"\"\"a\nb\"\"\"\n";
    let home = Home::with(".codex/config.toml", mixed);
    assert!(home.run(&["setup", "codex", "--remove", "--yes"]).1.contains("nothing is to be done"));
    let (status, said) = home.run(&["setup", "codex", "--yes"]);
    assert!(status == 2 && said.contains("some of its lines end in CRLF and others in LF"), "{said}");
    assert_eq!(home.text(".codex/config.toml"), mixed);
}

#[test]
fn hooks_of_every_client_are_put_in_and_taken_out() {
    for (client, file, said) in [
        ("claude-code", ".claude/settings.json", "'CODESKIM' hook claude-code"),
        ("codex", ".codex/hooks.json", "'CODESKIM' hook codex"),
        ("copilot", ".copilot/hooks/codeskim.json", "\"bash\": \"'CODESKIM' hook copilot --root '~'\""),
        ("gemini", ".gemini/settings.json", "'CODESKIM' hook gemini"),
        ("opencode", ".config/opencode/plugin/codeskim.js", "const COMMAND = [\"CODESKIM\",\"hook\",\"opencode\",\"--root\",\"~\"]"),
    ] {
        let home = Home::with("a/b.txt", "x");
        let (status, told) = home.run(&["setup", client, "--hook", "--yes", "--root", "."]);
        assert!(status == 0 && home.named(&home.text(file)).contains(said), "{client}: {told}\n{}", home.text(file));
        assert_eq!(told.contains("/hooks lists them"), client == "codex", "{told}");
        assert!(home.run(&["setup", client, "--hook", "--yes", "--root", "."]).1.contains("already set up"), "{client}");
        assert_eq!(home.run(&["setup", client, "--remove", "--yes"]).0, 0);
        let left = std::fs::read_to_string(home.path(file)).unwrap_or_default();
        assert!(!left.contains("codeskim"), "{client}: {left}");
        assert_eq!(home.path(file).exists(), !matches!(client, "copilot" | "opencode"), "what is codeskim's alone is removed");
    }
    let home = Home::with("a/b.txt", "x");
    for client in ["qwen", "cursor", "zed"] {
        assert!(
            home.run(&["setup", client, "--hook", "--yes"]).1.contains("has no hooks by which codeskim could prune; leave --hook out.")
        );
    }
}

#[test]
fn doctor_names_what_is_wrong() {
    let home = Home::with(".cursor/mcp.json", "{\"mcpServers\": {\"codeskim\": {\"command\": \"/old/codeskim\"}}}");
    std::fs::create_dir_all(home.path(".codex")).expect("created");
    std::fs::write(home.path(".codex/config.toml"), "model = \n").expect("written");
    let (status, said) = home.run(&["doctor"]);
    assert_eq!(status, 1, "{said}");
    let wrong: Vec<&str> = said.lines().filter(|line| line.starts_with('✗')).collect();
    insta::assert_snapshot!(wrong.join("\n"), @r#"
    ✗ Codex: "~/.codex/config.toml": it is not valid TOML (string values must be quoted, expected literal string).
    ✗ Cursor: ~/.cursor/mcp.json starts "/old/codeskim", which does not start (No such file or directory (os error 2)); codeskim setup cursor mends it
    "#);
    assert!(said.contains("✓ a pruned read in "), "{said}");
    let elsewhere = Home::with(".cursor/mcp.json", "{\"mcpServers\": {\"codeskim\": {\"url\": \"http://127.0.0.1:8000/mcp\"}}}");
    let (status, said) = elsewhere.run(&["doctor"]);
    assert!(status == 0 && said.contains("- Cursor: ~/.cursor/mcp.json starts nothing, as for a server at an address"), "{said}");
    let (status, said) = home.run(&["doctor", "--root", "/gone"]);
    assert_eq!(status, 1, "{said}");
    let printed = codeskim(Path::new("/"), &["doctor", "--root", "/gone"]);
    assert!(printed.stdout.contains("✗ root /gone: ") && printed.stderr.is_empty(), "a report is a result: {printed:?}");
    assert!(said.contains("✗ root /gone: ") && said.contains("✗ a pruned read: The root \"/gone\" cannot be opened"), "{said}");
}

#[test]
fn doctor_starts_no_program_that_a_repository_names() {
    let home = Home::with(".mcp.json", "{\"mcpServers\": {\"codeskim\": {\"command\": \"./planted\"}}}");
    std::fs::write(home.path("planted"), "#!/bin/sh\ntouch was-run\n").expect("written");
    let status = Command::new("chmod").arg("+x").arg(home.path("planted")).status().expect("it runs");
    assert!(status.success());
    let (status, said) = home.run(&["doctor"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("starts \"./planted\", which is another program; it was not tried, as it came with the project"), "{said}");
    assert!(!home.path("was-run").exists());
}
