//! Notebooks, as the text of their cells.

use serde::Deserialize;

/// Behind the path of a notebook: its cells are meant, and not the JSON that they are in.
pub const CELLS: &str = "#cells";
/// What is said of cells as they are shown.
pub const SAID: &str = "a notebook's cells, outputs cut; without #cells and without a question the path gives the exact file";
/// Begins the heading of a cell, as in scripts that editors take for notebooks.
pub const HEADING: &str = "# %% cell ";
/// Begins a line of what a cell printed.
const OUTPUT: &str = "# output: ";
/// Lines of an output, at most.
const MOST_LINES: usize = 2;
/// Longer lines of outputs are cut, in characters.
const LONGEST_LINE: usize = 200;

/// Newer notebooks have cells, older ones have sheets with cells.
#[derive(Deserialize)]
struct Notebook {
    #[serde(default)]
    cells: Vec<Cell>,
    #[serde(default)]
    worksheets: Vec<Sheet>,
}

#[derive(Deserialize)]
struct Sheet {
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(default, alias = "input")]
    source: Source,
    #[serde(default)]
    outputs: Vec<Output>,
}

/// Lines, or all of them in one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Whole(String),
    Lines(Vec<String>),
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    text: Option<Source>,
    #[serde(default)]
    data: Data,
    #[serde(default)]
    ename: Option<String>,
    #[serde(default)]
    evalue: Option<String>,
}

#[derive(Default, Deserialize)]
struct Data {
    #[serde(rename = "text/plain", default)]
    plain: Option<Source>,
}

impl Default for Source {
    fn default() -> Self {
        Self::Lines(Vec::new())
    }
}

impl Source {
    fn text(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Lines(lines) => lines.concat(),
        }
    }
}

impl Output {
    fn text(&self) -> String {
        match (&self.text, &self.data.plain, &self.ename) {
            (Some(text), ..) | (None, Some(text), _) => text.text(),
            (None, None, Some(name)) => format!("{name}: {}", self.evalue.as_deref().unwrap_or_default()),
            (None, None, None) => String::new(),
        }
    }
}

/// The path of a notebook in that of its cells.
pub fn path_of_cells(path: &str) -> Option<&str> {
    path.strip_suffix(CELLS).filter(|path| is_notebook(path))
}

/// Whether a file is a notebook, by its name.
pub fn is_notebook(path: &str) -> bool {
    path.ends_with(".ipynb")
}

/// The cells of a notebook, each below a heading, with the first lines of what it printed; none of what is no notebook or has no cells.
pub fn cells(json: &str) -> Option<String> {
    let Notebook { mut cells, worksheets } = serde_json::from_str(json.trim_start_matches('\u{feff}')).ok()?;
    cells.extend(worksheets.into_iter().flat_map(|sheet| sheet.cells));
    let mut shown = String::new();
    for (i, cell) in cells.iter().enumerate() {
        shown.push_str(&format!("{HEADING}{} ({})\n", i + 1, cell.cell_type.escape_debug()));
        push_lines(&mut shown, &cell.source.text());
        let printed: String = cell.outputs.iter().map(|output| output.text() + "\n").collect();
        let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in lines.iter().take(MOST_LINES) {
            shown.push_str(OUTPUT);
            push_lines(&mut shown, &line.chars().take(LONGEST_LINE).collect::<String>());
        }
        if !cell.outputs.is_empty() && lines.len() != lines.len().clamp(1, MOST_LINES) {
            shown.push_str(&format!("{OUTPUT}(the rest is cut)\n"));
        }
    }
    (!cells.is_empty()).then_some(shown)
}

fn push_lines(shown: &mut String, text: &str) {
    shown.push_str(text);
    if !text.is_empty() && !text.ends_with('\n') {
        shown.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_text() {
        let json = r##"{"cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {"cell_type": "code", "source": "x = \"a\"\nprint(x)", "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n", "c\n"]},
                {"output_type": "display_data", "data": {"image/png": "iVBOR"}}]},
            {"cell_type": "code", "source": [], "outputs": [{"output_type": "error", "ename": "KeyError", "evalue": "'a'", "traceback": []}]},
            {"cell_type": "code", "source": ["plot()\n"], "outputs": [{"data": {"image/png": "iVBOR"}}]}]}"##;
        let wanted = "# %% cell 1 (markdown)\n# Title\ntext\n# %% cell 2 (code)\nx = \"a\"\nprint(x)\n# output: a\n# output: b\n\
                      # output: (the rest is cut)\n# %% cell 3 (code)\n# output: KeyError: 'a'\n# %% cell 4 (code)\nplot()\n\
                      # output: (the rest is cut)\n";
        assert_eq!(cells(json).as_deref(), Some(wanted));
        let old = r#"{"worksheets": [{"cells": [{"cell_type": "code", "input": ["a"]}]}]}"#;
        assert_eq!(cells(old).as_deref(), Some("# %% cell 1 (code)\na\n"));
        for broken in ["", "{", "[]", "{}", r#"{"cells": []}"#, r#"{"cells": 1}"#, r#"{"cells": [{"source": "a"}]}"#] {
            assert_eq!(cells(broken), None, "{broken}");
        }
        assert_eq!((path_of_cells("a.ipynb#cells"), path_of_cells("a.py#cells")), (Some("a.ipynb"), None));
    }
}
