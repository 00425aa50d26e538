//! Notebooks: with a question as the text of their cells, without one as they are.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{codeskim, gap};

const QUESTION: &str = "Where is the learning rate decayed? (scheduler, decay)";

/// A notebook with many cells and a large picture.
fn notebook() -> Value {
    let code = |source: Vec<String>, outputs: Value| json!({ "cell_type": "code", "metadata": {}, "source": source, "outputs": outputs });
    let mut cells = vec![json!({ "cell_type": "markdown", "metadata": {}, "source": ["# Training \"fast\"\n", "\n", "All of it."] })];
    for i in 0..30 {
        let lines = ["", "    frame = frame.dropna()\n", "    return frame"];
        let mut lines = lines.map(str::to_owned).to_vec();
        lines[0] = format!("def clean_{i}(frame):\n");
        cells.push(code(lines, json!([{ "output_type": "display_data", "data": { "image/png": "iVBORw0KGgo".repeat(50) } }])));
    }
    let decay = [
        "def decay_learning_rate(optimizer, factor=0.1):\n",
        "    for group in optimizer.param_groups:\n",
        "        group[\"lr\"] *= factor",
    ];
    cells.push(code(decay.map(str::to_owned).to_vec(), json!([{ "output_type": "stream", "name": "stdout", "text": ["lr = 0.01\n"] }])));
    json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 })
}

fn read(directory: &Path, arguments: &[&str]) -> String {
    let printed = codeskim(directory, &[&["read"], arguments].concat());
    assert_eq!(printed.status, 0, "{}", printed.stderr);
    printed.stdout
}

#[test]
fn a_notebook_that_is_asked_something_is_shown_as_its_cells() {
    let directory = tempfile::tempdir().expect("a directory");
    let texts = [serde_json::to_string_pretty(&notebook()).expect("JSON"), notebook().to_string()];
    for text in texts {
        std::fs::write(directory.path().join("a.ipynb"), &text).expect("a file");
        let view = read(directory.path(), &["a.ipynb", "--focus", QUESTION]);
        let (header, body) = view.split_once('\n').expect("a header");
        assert!(header.starts_with("a.ipynb#cells: ") && header.contains("Decoded from a notebook's cells, outputs cut;"), "{header}");
        assert!(header.ends_with("--lines A-B of this path with #cells reads them."), "{header}");
        assert!(body.contains("# %% cell 32 (code)\n") && body.contains("        group[\"lr\"] *= factor\n"), "{view}");
        assert!(!view.contains("iVBOR") && body.contains('⋮'), "{view}");
        let whole = read(directory.path(), &["a.ipynb#cells"]);
        let (_, whole) = whole.split_once('\n').expect("a header");
        let mut read_back = String::new();
        for line in body.split_inclusive('\n') {
            let Some(range) = line.strip_prefix("⋮ ") else {
                read_back.push_str(line);
                continue;
            };
            let (from, to) = gap(range);
            let part = read(directory.path(), &["a.ipynb#cells", "--lines", &format!("{from}-{to}")]);
            read_back.push_str(part.split_once('\n').expect("a header").1);
        }
        assert_eq!(read_back, whole);
    }
}

/// Without a question a notebook comes as any file does, byte by byte.
#[test]
fn without_a_question_a_notebook_is_its_exact_text() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = serde_json::to_string_pretty(&json!({ "cells": notebook()["cells"].as_array().expect("cells")[..5] })).expect("JSON");
    std::fs::write(directory.path().join("a.ipynb"), &text).expect("a file");
    assert_eq!(read(directory.path(), &["a.ipynb"]), text);
    let lines: String = text.split_inclusive('\n').skip(4).take(6).collect();
    assert_eq!(read(directory.path(), &["a.ipynb", "--lines", "5-10"]), lines);
}

#[test]
fn a_range_of_cells_that_is_none_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("a.ipynb"), notebook().to_string()).expect("a file");
    for (lines, problem) in [("0-5", "lines count from 1"), ("20-10", "give one that goes forward"), ("100000-", "lines")] {
        for path in ["a.ipynb#cells", "a.ipynb"] {
            let refused = codeskim(directory.path(), &["read", path, "--lines", lines, "--focus", QUESTION]);
            assert!(refused.status == 2 && refused.stderr.contains(problem), "{lines}: {refused:?}");
        }
    }
}

#[test]
fn cells_are_shown_below_headings() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("a.ipynb"), notebook().to_string()).expect("a file");
    let shown = [
        read(directory.path(), &["a.ipynb#cells", "--lines", "1-8"]),
        read(directory.path(), &["a.ipynb#cells", "--lines", "154-"]),
        read(directory.path(), &["a.ipynb", "--lines", "155-157", "--focus", QUESTION]),
        read(directory.path(), &["a.ipynb", "--lines", "1-2,155-157", "--focus", QUESTION]),
    ];
    insta::assert_snapshot!(shown.join("==\n"), @r###"
    a.ipynb#cells lines 1-8 of 159: Decoded from a notebook's cells, outputs cut; without #cells and without a question the path gives the exact file.
    # %% cell 1 (markdown)
    # Training "fast"

    All of it.
    # %% cell 2 (code)
    def clean_0(frame):
        frame = frame.dropna()
        return frame
    ==
    a.ipynb#cells lines 154-159 of 159: Decoded from a notebook's cells, outputs cut; without #cells and without a question the path gives the exact file.
    # output: (the rest is cut)
    # %% cell 32 (code)
    def decay_learning_rate(optimizer, factor=0.1):
        for group in optimizer.param_groups:
            group["lr"] *= factor
    # output: lr = 0.01
    ==
    a.ipynb#cells lines 155-157 of 159: all 3 lines; the question leaves nothing out. Decoded from a notebook's cells, outputs cut; without #cells and without a question the path gives the exact file.
    # %% cell 32 (code)
    def decay_learning_rate(optimizer, factor=0.1):
        for group in optimizer.param_groups:
    ==
    ⋮ a.ipynb#cells 1-2 of 159: decoded from a notebook's cells, outputs cut; without #cells and without a question the path gives the exact file; the question leaves nothing out
    # %% cell 1 (markdown)
    # Training "fast"
    ⋮ a.ipynb#cells 155-157 of 159: decoded from a notebook's cells, outputs cut; without #cells and without a question the path gives the exact file; the question leaves nothing out
    # %% cell 32 (code)
    def decay_learning_rate(optimizer, factor=0.1):
        for group in optimizer.param_groups:
    "###);
}

#[test]
fn what_is_no_notebook_is_a_text() {
    let directory = tempfile::tempdir().expect("a directory");
    for text in ["{\"cells\": [", "print(1)\n", "{\"cells\": []}\n"] {
        std::fs::write(directory.path().join("a.ipynb"), text).expect("a file");
        assert_eq!(read(directory.path(), &["a.ipynb"]), text);
        assert_eq!(read(directory.path(), &["a.ipynb#cells"]), text);
        let asked = read(directory.path(), &["a.ipynb", "--focus", QUESTION]);
        assert!(asked.starts_with("a.ipynb: all 1 line;") && asked.ends_with(text), "{asked}");
    }
}
