//! A result with lines left out, under a header that says what it is.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::event::{Of, Returned};
use super::kept;
use crate::prune::FocusQuestion;
use crate::prune::render::ReadBack;
use crate::tools::passing::{Form, Request, run};
use crate::tools::{Output, Session};

/// What takes longer leaves the original, so that with the wait for a record it is no more than half a second. Tests run on busy machines.
const PATIENCE: Duration = Duration::from_millis(if cfg!(debug_assertions) { 10_000 } else { 330 });

/// A result as the agent is to see it; none where it is to stay as it is. `outputs` is where whole outputs of commands are kept.
pub fn prune(returned: &Returned<'_>, question: &FocusQuestion, session: Session, outputs: &Path) -> Option<Output> {
    let (name, form, read_back) = match &returned.of {
        Of::File(path, reads) => (path.clone(), Form::File, *reads),
        Of::Search(pattern) => (format!("the search for {pattern}"), Form::Matches, "the same search again shows all of it"),
        Of::Command(command, _) => (command.clone(), Form::Output, "they are in that file"),
    };
    let request = Request {
        name,
        text: returned.text.to_owned(),
        form,
        question: question.clone(),
        read_back: ReadBack { gap: read_back, line: read_back, only_line: read_back },
    };
    let (done, waiting) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = done.send(run(&session, &request, &CancellationToken::new()));
    });
    let output = waiting.recv_timeout(PATIENCE).ok()?.ok()??;
    let header = match &returned.of {
        Of::Command(..) => format!("codeskim shows an excerpt of this output; all of it is in {}.", kept::keep(outputs, returned.text)?.display()),
        Of::File(..) => "codeskim shows an excerpt of this file, which is not to be written back; read all of it before you write more than what is shown.".to_owned(),
        Of::Search(_) => "codeskim shows an excerpt of these results.".to_owned(),
    };
    Some(Output { text: format!("{header}\n{}", output.text), ..output })
}
