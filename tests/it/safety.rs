//! Nothing outside the roots is read, whatever happens to the paths during a call.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::common::{Client, codeskim, eras};

/// Stops the swapping where its scope ends, also by a panic.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Swaps `name` between two targets as fast as it can, until told to stop.
fn swap(directory: &Path, name: &str, targets: [&Path; 2], stop: &AtomicBool) {
    let temporary = directory.join(format!("{name}.new"));
    for target in targets.into_iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let _ = std::fs::remove_file(&temporary);
        symlink(target, &temporary).expect("linked");
        std::fs::rename(&temporary, directory.join(name)).expect("renamed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_swapped_during_the_call_never_leads_outside() {
    let outside = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(outside.path().join("d")).expect("created");
    std::fs::write(outside.path().join("d/f.txt"), "SECRET\n").expect("written");
    let root = tempfile::tempdir().expect("a directory");
    let real = root.path().join("real");
    std::fs::create_dir_all(real.join("d")).expect("created");
    std::fs::write(real.join("d/f.txt"), "public SECRE_\n").expect("written");
    symlink("real", root.path().join("link")).expect("linked");
    let stop = AtomicBool::new(false);
    let client = Client::start(root.path(), eras()[0].clone()).await;
    let (mut read, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| swap(root.path(), "link", [&real, outside.path()], &stop));
        let calls = async {
            let _stop = Stop(&stop);
            for _ in 0..1000 {
                let answer = client.call("read_file", json!({ "path": "link/d/f.txt" })).await;
                assert!(!answer.text.contains("SECRET"), "{answer:?}");
                if answer.is_error {
                    refused += 1
                } else {
                    read += 1
                }
                let answer = client.call("grep", json!({ "pattern": "SECRE.", "path": "link/d" })).await;
                assert!(!answer.text.contains(":SECRET"), "{answer:?}");
            }
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(calls));
    });
    println!("{read} reads inside, {refused} refusals");
    assert!(read > 0 && refused > 0, "the swap was not seen both ways: {read} read, {refused} refused");
}

#[tokio::test]
async fn links_inside_the_root_are_followed_and_others_are_not() {
    let root = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(root.path().join("a")).expect("created");
    std::fs::write(root.path().join("a/f.txt"), "text\n").expect("written");
    symlink("a/f.txt", root.path().join("relative")).expect("linked");
    symlink(root.path().canonicalize().expect("a path").join("a/f.txt"), root.path().join("absolute")).expect("linked");
    symlink(root.path().canonicalize().expect("a path").join("a"), root.path().join("folder")).expect("linked");
    let client = Client::start(root.path(), eras()[0].clone()).await;
    std::fs::create_dir_all(root.path().join("b/deep")).expect("created");
    std::fs::write(root.path().join("b/x"), "of b\n").expect("written");
    std::fs::write(root.path().join("a/x"), "of a\n").expect("written");
    symlink("../b/deep", root.path().join("a/link")).expect("linked");
    let absolute = root.path().join("a/../a/./f.txt").display().to_string();
    for path in ["a/f.txt", "./a//f.txt", "a/../relative", "relative", "absolute", "folder/f.txt", absolute.as_str()] {
        assert_eq!(client.text("read_file", json!({ "path": path })).await, "text\n", "{path}");
    }
    assert_eq!(client.text("read_file", json!({ "path": "a/link/../x" })).await, "of b\n", "`..` goes up from where a link leads");
    let linked_root = tempfile::tempdir().expect("a directory");
    symlink(root.path(), linked_root.path().join("other")).expect("linked");
    let by_other_name = linked_root.path().join("other/missing.rs").display().to_string();
    assert!(client.call("read_file", json!({ "path": by_other_name })).await.text.contains("There is no file"));
    assert!(client.call("read_file", json!({ "path": "folder" })).await.text.contains("is a directory, with f.txt link"));
    for (tool, arguments) in
        [("read_file", json!({ "path": "folder/missing.txt" })), ("grep", json!({ "pattern": "tex", "path": "folder/missing.txt" }))]
    {
        assert!(client.call(tool, arguments).await.text.contains("There is no file \"folder/missing.txt\""), "{tool}");
    }
    assert_eq!(client.text("grep", json!({ "pattern": "tex" })).await, "a/f.txt\n1:text\n");
    assert_eq!(client.text("grep", json!({ "pattern": "tex", "path": "folder" })).await, "a/f.txt\n1:text\n");
}

/// What is told of a path through a directory outside must not depend on what is there.
#[tokio::test]
async fn a_way_back_into_the_root_does_not_tell_what_is_outside() {
    let parent = tempfile::tempdir().expect("a directory");
    let real = parent.path().canonicalize().expect("a path");
    std::fs::create_dir_all(real.join("root/inner")).expect("created");
    std::fs::create_dir(real.join("exists")).expect("created");
    std::fs::write(real.join("root/f.txt"), "text\n").expect("written");
    symlink(real.join("exists"), real.join("root/out")).expect("linked");
    let client = Client::start(&real.join("root"), eras()[0].clone()).await;
    let inside = real.join("root/inner/../f.txt").display().to_string();
    assert_eq!(client.text("read_file", json!({ "path": inside })).await, "text\n");
    let refused = async |path: String| {
        let answers = [
            client.call("read_file", json!({ "path": path })).await,
            client.call("grep", json!({ "path": path, "pattern": "text" })).await,
        ];
        answers.map(|answer| {
            assert!(answer.is_error && answer.text.contains("outside the root"), "{answer:?}");
            answer.text
        })
    };
    refused("out/../root/f.txt".to_owned()).await;
    std::fs::write(real.join("exists/there.txt"), "text\n").expect("written");
    let there = refused("out/there.txt".to_owned()).await.map(|text| text.replace("there", "not-there"));
    assert_eq!(refused("out/not-there.txt".to_owned()).await, there);
    for way in ["../exists/../root/f.txt".to_owned(), real.join("exists/../root/f.txt").display().to_string()] {
        let there = refused(way.clone()).await.map(|text| text.replace("exists", "absent"));
        assert_eq!(refused(way.replace("exists", "absent")).await, there);
    }
}

/// A link out of the root and back in would tell that there is such a link outside.
#[tokio::test]
async fn links_that_lead_out_and_back_are_refused() {
    let parent = tempfile::tempdir().expect("a directory");
    let real = parent.path().canonicalize().expect("a path");
    let (root, outside) = (real.join("root"), real.join("outside"));
    std::fs::create_dir_all(root.join("sub/deep")).expect("created");
    std::fs::create_dir(&outside).expect("created");
    std::fs::write(root.join("a.py"), "text\n").expect("written");
    let link = |target: &Path, at: &Path| symlink(target, at).expect("linked");
    link(&root, &outside.join("back"));
    link(&root.join("a.py"), &outside.join("file"));
    link(&outside, &root.join("out"));
    link(&outside.join("back/a.py"), &root.join("there"));
    link(Path::new("../outside/file"), &root.join("relative"));
    link(Path::new("../root/a.py"), &root.join("around"));
    link(&outside.join("../root/a.py"), &root.join("up"));
    link(&root.join("../root/a.py"), &root.join("above"));
    link(&root.join("../outside/back/a.py"), &root.join("above-out"));
    link(&root.join("out"), &root.join("chain"));
    link(&root.join("loop"), &root.join("loop"));
    link(Path::new("/proc/self/cwd"), &root.join("cwd"));
    link(&root, &real.join("alias"));
    let absolute = |path: &str| real.join(path).display().to_string();
    let client = Client::start(&root, eras()[0].clone()).await;
    for path in [
        "out/back/a.py",
        "out/file",
        "there",
        "relative",
        "around",
        "up",
        "above",
        "above-out",
        "chain/back/a.py",
        "chain/back",
        "sub/../out/back/a.py",
        "out/back/out/back/a.py",
        "loop",
        "cwd/a.py",
        &absolute("root/out/back/a.py"),
        &absolute("alias/out/back/a.py"),
        &absolute("alias/out/file"),
    ] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": path })),
            ("head", json!({ "path": path })),
            ("grep", json!({ "pattern": "text", "path": path })),
            ("repo_map", json!({ "roots": [path] })),
        ] {
            let answer = client.call(tool, arguments).await;
            assert!(answer.is_error && answer.text.contains("outside the root"), "{tool} {path}: {answer:?}");
        }
    }
    link(&root.join("sub"), &root.join("folder"));
    link(&root.join("folder/deep"), &root.join("sub/chained"));
    link(&root.join("sub/chained/../../a.py"), &root.join("sub/deep/dotted"));
    link(&real.join("alias/sub"), &root.join("by-alias"));
    for path in ["folder/chained/dotted", "sub/chained/dotted", "folder/../a.py", "folder/chained/../chained/dotted"] {
        assert_eq!(client.text("read_file", json!({ "path": path })).await, "text\n", "{path}");
    }
    for path in ["folder/missing", "folder/missing/../x", "sub/chained/dotted/../x"] {
        assert!(client.call("read_file", json!({ "path": path })).await.text.contains("There is no file"), "{path}");
    }
    let given = codeskim(&real, &["--root", &absolute("alias"), "read", "by-alias/deep/dotted"]);
    assert_eq!(given.stdout, "text\n", "a link may begin as the root was given: {given:?}");
    assert!(client.call("read_file", json!({ "path": "by-alias/deep/dotted" })).await.text.contains("outside the root"));
}

/// The walk lists names by path, so that those of elsewhere may be among them; none of these is told.
#[tokio::test(flavor = "multi_thread")]
async fn names_of_a_directory_that_becomes_a_link_are_not_told() {
    let outside = tempfile::tempdir().expect("a directory");
    for name in 0..40 {
        std::fs::write(outside.path().join(format!("outsider{name}.py")), "def outsider(): pass\n").expect("written");
    }
    let root = tempfile::tempdir().expect("a directory");
    let (place, kept, link) = (root.path().join("d"), root.path().join(".kept"), root.path().join(".link"));
    std::fs::create_dir(&place).expect("created");
    std::fs::write(place.join("seen.py"), "def seen(): pass\n").expect("written");
    symlink(outside.path(), &link).expect("linked");
    let stop = AtomicBool::new(false);
    let client = Client::start(root.path(), eras()[0].clone()).await;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [(&place, &kept), (&link, &place), (&place, &link), (&kept, &place)] {
                    std::fs::rename(from, to).expect("renamed");
                }
            }
        });
        let calls = async {
            let _stop = Stop(&stop);
            for _ in 0..300 {
                for (tool, arguments) in [
                    ("repo_map", json!({})),
                    ("repo_map", json!({ "roots": ["d"] })),
                    ("search", json!({ "query": "Where is outsider defined?" })),
                    ("grep", json!({ "pattern": "outside." })),
                    ("read_file", json!({ "path": "outsider1.py" })),
                ] {
                    let answer = client.call(tool, arguments).await;
                    let told = answer.text.replace("\"outsider1.py\"", "").replace("Where is outsider defined", "");
                    assert!(!told.contains("outsider"), "{tool}: {answer:?}");
                }
            }
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(calls));
    });
}

/// The excludes of a repository are read where git itself has it that this is its worktree, and nothing elsewhere is read or named.
#[test]
fn a_git_file_leads_nowhere_but_to_its_own_repository() {
    let parent = tempfile::tempdir().expect("a directory");
    let real = parent.path().canonicalize().expect("a path");
    let (repository, worktree, root) = (real.join("repository"), real.join("worktree"), real.join("root"));
    let git = |directory: &Path, arguments: &[&str]| {
        let named = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        let output = std::process::Command::new("git").args(named).args(arguments).current_dir(directory).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    };
    let fill = |directory: &Path| {
        ["seen.txt", "excluded.txt"].into_iter().for_each(|name| std::fs::write(directory.join(name), "needle\n").expect("written"))
    };
    let search = |directory: &Path| codeskim(directory, &["grep", "needle"]);
    std::fs::create_dir_all(&repository).expect("created");
    git(&repository, &["init", "-q"]);
    git(&repository, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&repository, &["worktree", "add", "-q", "../worktree"]);
    std::fs::write(repository.join(".git/info/exclude"), "excluded.txt\n").expect("written");
    fill(&worktree);
    assert_eq!(search(&worktree).stdout, "seen.txt\n1:needle\n", "a real worktree");
    // A directory elsewhere that anybody may have made: it does not name this root.
    let elsewhere = real.join("elsewhere/worktrees/w");
    std::fs::create_dir_all(&elsewhere).expect("created");
    std::fs::create_dir_all(real.join("elsewhere/info")).expect("created");
    std::fs::write(elsewhere.join("commondir"), "../..\n").expect("written");
    std::fs::create_dir_all(root.join("own/worktrees/w")).expect("created");
    fill(&root);
    let all = "excluded.txt\n1:needle\n\nseen.txt\n1:needle\n";
    let excluded = |text: &[u8]| std::fs::write(real.join("elsewhere/info/exclude"), text).expect("written");
    let gits = [elsewhere.clone(), repository.join(".git"), repository.join(".git/worktrees/worktree"), root.join("own/worktrees/w")];
    let (many, wild) = (b"a\n".repeat(30_000), b"?.a\n".repeat(3000));
    for text in [b"excluded.txt\n".to_vec(), b"{".repeat(1000), vec![b'\n'; 2_000_000], many, wild] {
        excluded(&text);
        for own in &gits {
            std::fs::write(root.join(".git"), format!("gitdir: {}\n", own.display())).expect("written");
            let printed = search(&root);
            assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), (all, ""), "{own:?}");
        }
    }
    // One inside the root may say what it likes, and leads no further.
    excluded(b"excluded.txt\n");
    for common in [real.join("elsewhere"), repository.join(".git")] {
        std::fs::write(root.join("own/worktrees/w/gitdir"), root.join(".git").display().to_string()).expect("written");
        std::fs::write(root.join("own/worktrees/w/commondir"), common.display().to_string()).expect("written");
        assert_eq!(search(&root).stdout, all, "{common:?}");
    }
}

#[tokio::test]
async fn several_roots_are_searched_in_order_and_shown_with_absolute_paths() {
    let (one, two) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    std::fs::write(two.path().join("only_two.txt"), "second\n").expect("written");
    let (first, second) = (one.path().display().to_string(), two.path().display().to_string());
    let client = Client::start_with(Path::new("/"), eras()[0].clone(), &["--root", &first, "--root", &second]).await;
    assert_eq!(client.text("read_file", json!({ "path": "only_two.txt" })).await, "second\n");
    let shown = two.path().canonicalize().expect("a path").join("only_two.txt");
    assert_eq!(client.text("grep", json!({ "pattern": "sec" })).await, format!("{}\n1:second\n", shown.display()));
    std::fs::create_dir(two.path().join("in")).expect("created");
    std::fs::write(one.path().join("m.py"), "def first(): pass\n").expect("written");
    std::fs::write(two.path().join("m.py"), "def another(): pass\n").expect("written");
    let module = two.path().canonicalize().expect("a path").join("m.py").display().to_string();
    let map = client.text("repo_map", json!({ "roots": [module] })).await;
    assert!(map.contains("def another") && map.lines().filter(|line| line.contains("m.py")).all(|line| line.contains(&module)), "{map}");
    let inner = two.path().join("in").display().to_string();
    let overlapping = codeskim(Path::new("/"), &["--root", &inner, "--root", &second, "grep", "sec"]);
    assert_eq!(overlapping.stdout, "only_two.txt\n1:second\n", "{overlapping:?}");
    let answer = client.call("read_file", json!({ "path": "/etc/hostname" })).await;
    assert!(answer.is_error && answer.text.contains("is outside the roots"), "{answer:?}");
}

/// What is listed is found by path, what is read by handle: where these are no longer the same directory nothing is said of either.
#[tokio::test]
async fn a_root_that_is_moved_or_replaced_is_said_to_be() {
    let place = tempfile::tempdir().expect("a directory");
    let (root, moved) = (place.path().join("root"), place.path().join("moved"));
    std::fs::create_dir(&root).expect("created");
    std::fs::write(root.join("a.txt"), "needle\n").expect("written");
    let client = Client::start_with(place.path(), eras()[0].clone(), &["--root", "root"]).await;
    assert_eq!(client.text("grep", json!({ "pattern": "needle" })).await, "a.txt\n1:needle\n");
    std::fs::rename(&root, &moved).expect("moved");
    let refused = async || {
        for (tool, arguments) in [
            ("grep", json!({ "pattern": "needle" })),
            ("grep", json!({ "pattern": "needle", "path": "a.txt" })),
            ("read_file", json!({ "path": "a.txt" })),
            ("read_file", json!({ "path": "secret.txt" })),
        ] {
            let answer = client.call(tool, arguments).await;
            assert!(answer.is_error && answer.text.contains("has been moved, removed or replaced since codeskim started"), "{answer:?}");
        }
    };
    refused().await;
    std::fs::create_dir(&root).expect("created");
    std::fs::write(root.join("secret.txt"), "needle\n").expect("written");
    refused().await;
    std::fs::remove_dir_all(&root).expect("removed");
    std::fs::rename(&moved, &root).expect("moved back");
    assert_eq!(client.text("read_file", json!({ "path": "a.txt" })).await, "needle\n");
}

/// Ignore rules and hidden files hide from a search what ripgrep hides, and only there: a file that is named is read.
#[test]
fn ignored_and_hidden_files_are_not_searched() {
    let root = tempfile::tempdir().expect("a directory");
    let write = |name: &str| std::fs::write(root.path().join(name), "needle\n").expect("written");
    std::fs::write(root.path().join(".gitignore"), "ignored.txt\n").expect("written");
    std::fs::create_dir_all(root.path().join(".git/info")).expect("created");
    std::fs::write(root.path().join(".git/info/exclude"), "/excluded.txt\n").expect("written");
    ["seen.txt", "ignored.txt", "excluded.txt", ".hidden"].into_iter().for_each(write);
    for arguments in [&["grep", "needle"][..], &["grep", "needle", "-g", "*"]] {
        let found = codeskim(root.path(), arguments).stdout;
        assert!(found.ends_with("1 hidden file matches: path or glob has to name it.\nseen.txt\n1:needle\n"), "{found}");
    }
    assert_eq!(codeskim(root.path(), &["grep", "needle", "-g", "!seen.txt"]).status, 1);
    assert_eq!(codeskim(root.path(), &["grep", "needle", "ignored.txt"]).stdout, "ignored.txt\n1:needle\n");
    assert_eq!(codeskim(root.path(), &["read", ".hidden"]).stdout, "needle\n");
    std::fs::remove_file(root.path().join(".hidden")).expect("removed");
    let above = codeskim(root.path().parent().expect("a parent"), &["grep", "needle", &root.path().display().to_string()]).stdout;
    assert!(above.ends_with("/seen.txt\n1:needle\n") && above.lines().count() == 2, "{above}");
    let nested = root.path().join("nested");
    std::fs::create_dir_all(nested.join(".git/info")).expect("created");
    std::fs::write(nested.join(".git/info/exclude"), "/own.txt\n").expect("written");
    ["nested/own.txt", "nested/seen.txt"].into_iter().for_each(write);
    let found = codeskim(root.path(), &["grep", "needle"]).stdout;
    assert_eq!(found, "nested/seen.txt\n1:needle\n\nseen.txt\n1:needle\n", "each repository excludes for itself");
    let worktree = tempfile::tempdir().expect("a directory");
    let own = root.path().join(".git/worktrees/w");
    std::fs::create_dir_all(&own).expect("created");
    std::fs::write(own.join("commondir"), "../..\n").expect("written");
    std::fs::write(own.join("gitdir"), format!("{}\n", worktree.path().join(".git").display())).expect("written");
    std::fs::write(worktree.path().join(".git"), format!("gitdir: {}\n", own.display())).expect("written");
    ["seen.txt", "excluded.txt"].into_iter().for_each(|name| std::fs::write(worktree.path().join(name), "needle\n").expect("written"));
    assert_eq!(codeskim(worktree.path(), &["grep", "needle"]).stdout, "seen.txt\n1:needle\n", "a worktree has its repository's excludes");
}
