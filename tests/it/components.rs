//! Components of Vue, Svelte and Astro: their scripts are code, and what is around them goes together by indentation.

use std::path::{Path, PathBuf};

use codeskim::prune::code::Code;
use codeskim::prune::{Material, Piece, pieces};
use codeskim::syntax::Reader;
use tokio_util::sync::CancellationToken;

use crate::common::{REPOSITORY, codeskim, directory_of};

fn fixtures() -> PathBuf {
    Path::new(REPOSITORY).join("tests/fixtures/components")
}

/// What is shown of a text where the lines with these words are wanted.
fn shown(path: &str, text: &str, wanted: &[&str]) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut kept: Vec<bool> = lines.iter().map(|line| wanted.iter().any(|wanted| line.contains(wanted))).collect();
    Code::new(path, &lines, 0, &Reader::unguarded().access(&CancellationToken::new())).complete(&mut kept);
    let piece = |piece| match piece {
        Piece::Lines(range) => lines[range].concat(),
        Piece::Gap(gap) => format!("⋮ {}-{}\n", gap.start + 1, gap.end),
    };
    pieces(&kept).into_iter().map(piece).collect()
}

fn shown_of(path: &str, wanted: &[&str]) -> String {
    shown(path, &std::fs::read_to_string(fixtures().join(path)).expect("a file"), wanted)
}

#[test]
fn definitions_in_scripts_are_found_by_name() {
    let names = ["loadUsers", "remove", "format", "sizeOf", "entries", "toggle", "save", "close", "label"];
    let read = names.map(|name| codeskim(&fixtures(), &["read", "--symbol", name]).stdout);
    insta::assert_snapshot!(read.concat(), @r#"
    ⋮ App.vue 14-21 of 53: loadUsers
    /** Loads the users of a page. */
    async function loadUsers(page: number) {
      const response = await fetch(`/api/users?page=${page}`)
      if (!response.ok) {
        throw new Error('no users')
      }
      users.value = await response.json()
    }
    ⋮ used by: App.vue:36
    ⋮ App.vue 23-25 of 53: remove
    const remove = (id: string) => {
      users.value = users.value.filter((user) => user.id !== id)
    }
    ⋮ App.vue 44-46 of 53: format
    export function format(user: User): string {
      return user.id.toUpperCase()
    }
    ⋮ used by: components/UserCard.vue:label, components/UserCard.vue:6
    ⋮ components/Badge.svelte 3-5 of 19: sizeOf
      export function sizeOf(n) {
        return SIZES[n];
      }
    ⋮ used by: components/Badge.svelte:11
    ⋮ pages/index.astro 5-8 of 20: entries
    async function entries(limit: number) {
      const all = await Astro.glob('./posts/*.md');
      return all.slice(0, limit);
    }
    ⋮ pages/index.astro 17-19 of 20: toggle
      function toggle(el: HTMLElement) {
        el.classList.toggle('open');
      }
    ⋮ components/UserCard.vue 20-22 of 28: save
        async save() {
          await this.$store.dispatch('save', this.user)
        },
    ⋮ components/UserCard.vue 23-25 of 28: close
        close: function () {
          this.open = false
        },
    ⋮ components/UserCard.vue 15-17 of 28: label
        label() {
          return format(this.user)
        },
    "#);
}

#[test]
fn maps_follow_imports_between_components() {
    let directory = directory_of([
        (
            "src/App.vue",
            "<script src=\"./logic.ts\"></script>\n<script setup>\nimport Card from '@/ui/Card'\nfunction go() {}\n</script>\n",
        ),
        ("src/logic.ts", "export function think() {}\n"),
        ("src/ui/Card.svelte", "<script>\r\n  import Page from '../Page.astro';\r\n  export function open(n) {\r\n  }\r\n</script>\r\n"),
        ("src/Page.astro", "---\nimport { think } from './logic.js';\nconst f = () => {\n};\n---\n<p/>\n"),
        ("tsconfig.json", r#"{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}"#),
    ]);
    insta::assert_snapshot!(codeskim(directory.path(), &["map", "src/App.vue"]).stdout, @r#"
    [IR-RepoMap | auto-generated]
    Interface roots:
    - src/App.vue

    Import closure (depth<=3, budget<=1500 tokens):
    - src/App.vue -> src/ui/Card.svelte, src/logic.ts
    - src/ui/Card.svelte -> src/Page.astro
    - src/Page.astro -> src/logic.ts

    Symbols:
    src/App.vue
    - function go()
    src/logic.ts
    - function think()
    src/ui/Card.svelte
    - function open(n)
    src/Page.astro
    - const f = ()
    "#);
}

#[test]
fn searches_name_the_definitions_in_scripts() {
    insta::assert_snapshot!(codeskim(&fixtures(), &["grep", r"users\.value|n \+= 1|slice"]).stdout, @r#"
    App.vue
    in loadUsers 15-21
    20:  users.value = await response.json()
    in remove 23-25
    24:  users.value = users.value.filter((user) => user.id !== id)

    components/Badge.svelte
    in grow 12-14
    13:    n += 1;

    pages/index.astro
    in entries 5-8
    7:  return all.slice(0, limit);
    "#);
}

#[test]
fn a_line_of_a_script_brings_its_function_and_its_tags() {
    let views = [
        shown_of("App.vue", &["new Error", "<UserCard"]),
        shown_of("components/Badge.svelte", &["n += 1"]),
        shown_of("pages/index.astro", &["all.slice", "<body>"]),
    ];
    insta::assert_snapshot!(views.join("==\n"), @r#"
    <script setup lang="ts">
    ⋮ 2-14
    async function loadUsers(page: number) {
    ⋮ 16-16
      if (!response.ok) {
        throw new Error('no users')
      }
    ⋮ 20-20
    }
    ⋮ 22-25
    </script>
    ⋮ 27-27
    <template>
      <main class="app">
    ⋮ 30-30
        <ul>
          <li v-for="user in users" :key="user.id">
            <UserCard :user="user" @remove="remove(user.id)" />
    ⋮ 34-53
    ==
    ⋮ 1-7
    <script>
    ⋮ 9-11
      function grow() {
        n += 1;
      }
    </script>
    ⋮ 16-19
    ==
    ---
    ⋮ 2-4
    async function entries(limit: number) {
    ⋮ 6-6
      return all.slice(0, limit);
    }
    ⋮ 9-9
    ---
    <html>
      <body><App title={title} /><Badge n={2} /></body>
    ⋮ 13-20
    "#);
}

#[test]
fn tags_over_several_lines_and_scripts_without_end() {
    let cases = [
        ("a.vue", "<script\r\n  setup\r\n  lang=\"ts\"\r\n>\r\nfunction f() {\r\n  go()\r\n}\r\nlet a\r\n</script>\r\n<p/>\r\n", "1-7,9"),
        ("a.svelte", "<script>\nfunction f() {\n  go()\n}\nlet a;\n", "1-4"),
        ("a.svelte", "<script>function f() {\n  go()\n}</script>\n<p>\n</p>\n", "1-3"),
        ("a.vue", "<script>\n</script>\n<p>\n  go()\n</p>\n", "3-4"),
        ("a.vue", "<script lang=\"tsx\">\nconst f = () => {\n  return <p>go()</p>\n}\nlet a\n</script>\n", "1-4,6"),
        ("a.astro", "---\nif (a) {\n  go()\n}\nlet b;\n---\n<p/>\n", "1-4,6"),
    ];
    for (path, text, wanted) in cases {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let wanted = |line: usize| {
            wanted.split(',').any(|range| {
                let (from, to) = range.split_once('-').unwrap_or((range, range));
                (from.parse().expect("a number")..=to.parse().expect("a number")).contains(&line)
            })
        };
        let expected: String = (1..).zip(&lines).filter(|(number, _)| wanted(*number)).map(|(_, line)| *line).collect();
        let view = shown(path, text, &["go()"]);
        let view: String = view.split_inclusive('\n').filter(|line| !line.starts_with('⋮')).collect();
        assert_eq!(view, expected, "{text}");
    }
}

#[test]
fn a_broken_script_takes_no_other_along() {
    let directory = tempfile::tempdir().expect("a directory");
    let cases = [
        // HTML ends a script at the first closing tag, whatever the script means by it.
        ("a.svelte", "<script>\nconst a = `</script>`;\nlet b = `\n</script>\n<script>\nfunction wanted() {\n  go()\n}\n</script>\n"),
        ("a.vue", "<script>\nfunction open() {\n  const a = `\n</script>\n<script setup>\nfunction wanted() {\n  go()\n}\n</script>\n"),
        ("a.vue", "<script>\nfunction wanted() {\n  go()\n}\n</script>\n<script setup>\n/* never ended\n</script>\n"),
        ("a.astro", "---\nconst a = `\n---x\n`;\n---\n<script>\nfunction wanted() {\n  go()\n}\n</script>\n"),
    ];
    for (path, text) in cases {
        std::fs::write(directory.path().join(path), text).expect("a file");
        let read = codeskim(directory.path(), &["read", path, "--symbol", "wanted"]).stdout;
        assert!(read.contains("function wanted() {\n  go()\n}\n"), "{text}\n{read}");
    }
}
