//! How far a command is, as whoever looks at a terminal sees it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::BINARY;

/// What a command prints that waits this long for a file which it reads: on a terminal, or into two pipes.
fn printed(directory: &Path, name: &str, waits: Duration, on_terminal: bool) -> (String, String) {
    let fifo = directory.join(name);
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let mut command = match on_terminal {
        true => Command::new("script"),
        false => Command::new(BINARY),
    };
    match on_terminal {
        true => command.args(["-qec", &format!("{BINARY} --no-ledger map --task {name}"), "/dev/null"]),
        false => command.args(["--no-ledger", "map", "--task", name]),
    };
    let command = command.current_dir(directory).env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    std::thread::spawn(move || {
        std::thread::sleep(waits);
        std::fs::write(&fifo, "Path: 'a.py'\n").expect("written");
    });
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn only_a_terminal_sees_how_far_a_long_command_is_and_nothing_of_it_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("a.py"), "def a():\n    pass\n").expect("written");
    let (short, long) = (Duration::from_millis(200), Duration::from_secs(4));
    let at = |name: &'static str, waits, on_terminal| {
        let directory = directory.path().to_owned();
        std::thread::spawn(move || printed(&directory, name, waits, on_terminal))
    };
    let runs = [at("seen", long, true), at("piped", long, false), at("short", short, true)];
    let [seen, piped, short] = runs.map(|run| run.join().expect("it ends"));
    let (map, said) = piped;
    assert!(map.contains("a.py") && said.is_empty(), "{map}{said}");
    assert_eq!(short.0, map, "nothing is shown of what takes no time");
    let (line, rest) = seen.0.rsplit_once("\x1b[2K").expect("a line that was cleared");
    assert!(line.contains(" working"), "{line}");
    assert_eq!(rest, map);
}
