//! Real output on real code of this repository, to be reviewed by eye when it changes (`INSTA_UPDATE=always cargo test`, then read the diff).

use std::path::Path;

use serde_json::json;

use crate::common::{Client, FILE, QUESTION, REPOSITORY, eras};

#[tokio::test]
async fn pruned_results() {
    let client = Client::start(Path::new(REPOSITORY), eras()[1].clone()).await;
    let read = json!({ "path": FILE, "context_focus_question": QUESTION });
    insta::assert_snapshot!("read", client.text("read_file", read).await);
    let python =
        json!({ "path": "training/mine.py", "context_focus_question": "How does it find the block of code that a comment describes?" });
    insta::assert_snapshot!("read_python", client.text("read_file", python).await);
    let grep = json!({ "pattern": "def \\w+", "path": "training", "glob": "*.py", "context_focus_question": "Which function finds the block of code that a comment describes? (docstring, indent, body, lines)" });
    insta::assert_snapshot!("grep", client.text("grep", grep).await);
    let head = json!({ "path": "src/workspace/text.rs", "lines": 120, "context_focus_question": "Which files have to be read by range, and what are they told?" });
    insta::assert_snapshot!("head", client.text("head", head).await);
    let unanswered = json!({ "path": "src/prune/select.rs", "context_focus_question": "How are passwords hashed before they are stored in the database?" });
    insta::assert_snapshot!("unanswered", client.text("read_file", unanswered).await);
}
