//! What the options stand for: the session, its skimmer and its ledger, and the same options for a server that a client starts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use codeskim::error::{Error, Result};
use codeskim::ledger::{self, Ledger};
use codeskim::prune::Limits;
use codeskim::skim::fallback::Fallback;
use codeskim::skim::remote::Remote;
use codeskim::skim::swe_pruner::{Precision, SwePruner};
use codeskim::skim::{Keep, Skimmer};
use codeskim::syntax::Reader;
use codeskim::tools::{Options, Session};
use codeskim::workspace::real::canonical;

use super::arguments::{Cli, Models, REMOTE_TIMEOUT};

/// How long a client waits for a large model, which on a CPU takes minutes for a long file; most clients give up after one. Whoever types a command
/// can wait.
const PATIENCE: Duration = Duration::from_secs(45);

/// Who reads the results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    /// One agent, over MCP.
    Agent,
    /// Several, over HTTP.
    Several,
    /// Someone at a shell.
    Shell,
}

/// Reads syntax in child processes of this program: of the one that runs, also where another has taken its place since.
pub(super) fn reader() -> Arc<Reader> {
    let own = if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { std::env::current_exe().unwrap_or_default() };
    Arc::new(Reader::guarded(own))
}

impl Models {
    /// The published pruner, if one is asked for. A shell's call waits for its weights; a server's calls are answered meanwhile.
    pub(super) fn published(&self, waits: bool) -> Result<Option<Arc<SwePruner>>> {
        let open = |directory: &PathBuf| SwePruner::open(directory, self.precision, waits).map(Arc::new);
        self.model.as_ref().map(open).transpose()
    }

    pub(super) fn server(&self) -> Result<Option<Arc<Remote>>> {
        let token = std::env::var("CODESKIM_REMOTE_TOKEN").ok().filter(|token| !token.is_empty());
        let open = |url: &String| Remote::new(url, token, Duration::from_secs(self.remote_timeout)).map(Arc::new);
        self.remote.as_ref().map(open).transpose()
    }
}

impl Cli {
    /// Whether a model is asked for whose weights are quantized.
    pub fn is_quantized(&self) -> bool {
        self.models.precision == Precision::Q8
    }

    pub(super) fn roots(&self) -> Vec<PathBuf> {
        if self.roots.is_empty() { vec![PathBuf::from(".")] } else { self.roots.clone() }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { most: self.max_chars, tokens: self.budget, keep: self.keep }
    }

    /// The session that is asked for, and the published pruner in it if there is one.
    pub(super) fn session(&self, readers: Readers) -> Result<(Session, Option<Arc<SwePruner>>)> {
        let options = Options {
            limits: self.limits(),
            shell: readers == Readers::Shell,
            shared: readers == Readers::Several,
            observe: self.accounts.observe,
        };
        let session = Session::new(&self.roots(), options)?.with_syntax(reader());
        if self.accounts.observe && (readers == Readers::Several || self.ledger(None).is_none()) {
            return Err(Error::bad_argument("--observe needs a ledger, which is turned off or cannot be kept over HTTP; leave it out."));
        }
        if self.models.model.is_some() && self.models.remote.is_some() {
            return Err(Error::bad_argument("--model and --remote both say what scores lines; give one of them."));
        }
        let published = self.models.published(readers == Readers::Shell)?;
        let skimmer = match (&published, self.models.server()?) {
            (Some(model), _) if readers == Readers::Shell => Fallback::new(Arc::clone(model) as Arc<dyn Skimmer>),
            (Some(model), _) => Fallback::new(Arc::clone(model) as Arc<dyn Skimmer>).within(PATIENCE),
            (None, Some(server)) => Fallback::new(server),
            (None, None) => return Ok((session, None)),
        };
        Ok((session.with_skimmer(Arc::new(skimmer)), published))
    }

    /// Where calls are noted. A server over HTTP keeps no ledger, as it cannot tell its readers apart.
    pub(super) fn ledger(&self, session: Option<String>) -> Option<ledger::Settings> {
        let path = ledger::place().filter(|_| !self.accounts.no_ledger)?;
        let project = canonical(self.roots().first()?).ok()?;
        Some(ledger::Settings { path, project, session, client: None, background: false, questions: self.accounts.ledger_questions })
    }

    /// The ledger, the tool and the question, if this command calls a tool and is to be noted.
    pub(super) fn note(&self) -> Option<(Ledger, &'static str, Option<String>)> {
        let command = self.command.as_ref()?;
        let tool = command.tool()?;
        let (ledger, question) = (Ledger::open(self.ledger(None)?), command.question().cloned());
        if question.is_some() {
            ledger.warm_up();
        }
        Some((ledger, tool, question))
    }

    /// The options that were given, but for the roots, as a server is to get them.
    pub(super) fn options_of_server(&self) -> Vec<String> {
        let Models { model, precision, remote, remote_timeout } = &self.models;
        let named = |name: &str, given: Option<String>| given.map(|value| [format!("--{name}"), value]);
        let unusual = |name: &str, value: String, usual: String| named(name, (value != usual).then_some(value));
        let turned_off = std::env::var_os(ledger::VARIABLE).is_some_and(|value| value == "off");
        let set = |name: &str, given: bool| given.then(|| format!("--{name}"));
        let possible = |value: &dyn Fn() -> Option<PossibleValue>| value().map_or_else(String::new, |value| value.get_name().to_owned());
        let whole = |path: &PathBuf| canonical(path).unwrap_or_else(|_| path.clone()).display().to_string();
        [
            unusual("keep", possible(&|| self.keep.to_possible_value()), possible(&|| Keep::default().to_possible_value())),
            unusual("max-chars", self.max_chars.to_string(), Limits::default().most.to_string()),
            named("budget", self.budget.map(|budget| budget.to_string())),
            named("model", model.as_ref().map(whole)),
            unusual("precision", possible(&|| precision.to_possible_value()), possible(&|| Precision::default().to_possible_value())),
            named("remote", remote.clone()),
            unusual("remote-timeout", remote_timeout.to_string(), REMOTE_TIMEOUT.to_string()),
        ]
        .into_iter()
        .flatten()
        .flatten()
        .chain(set("observe", self.accounts.observe))
        .chain(set("no-ledger", self.accounts.no_ledger || turned_off)) // clients start servers without the user's environment
        .chain(set("ledger-questions", self.accounts.ledger_questions))
        .collect()
    }
}
