//! `codeskim setup`: codeskim in a client's configuration, or out of it.

use std::io::{self, BufRead, IsTerminal, Write as _};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use codeskim::error::{Error, Result, quote};
use codeskim::setup::clients::{Client, Launch, Places};
use codeskim::setup::hooks::{self, HookKind};
use codeskim::setup::{self, Change};
use codeskim::tools::Output;
use codeskim::workspace::real::canonical;

/// Arguments of `codeskim setup`.
#[derive(Args)]
pub struct Setup {
    /// The agent to set up
    client: Client,
    /// In the configuration of this directory, not in the user's own
    #[arg(long)]
    project: bool,
    /// Run codeskim beside the agent's own tools, too: prune large results of theirs, or steer it away from large reads, once
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "prune", require_equals = true)]
    hook: Option<HookKind>,
    /// Take codeskim out again
    #[arg(long)]
    remove: bool,
    /// Write without asking
    #[arg(short, long)]
    yes: bool,
    /// Show the change, write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

impl Setup {
    /// Whether it takes codeskim out.
    pub fn removes(&self) -> bool {
        self.remove
    }
}

/// Shows the changes of a client's configuration and, when told to, writes them. `roots` and `options` are those of the server to be.
pub fn setup(request: &Setup, roots: &[PathBuf], options: Vec<String>) -> Result<Output> {
    let places = places()?;
    let client = request.client;
    let hooks = hooks::path(client, &places, request.project).filter(|_| request.remove || request.hook.is_some());
    if let Some(kind) = request.hook.filter(|kind| !hooks::does(client, *kind)) {
        let kind = kind.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        return Err(Error::bad_argument(format!("{} has no hooks by which codeskim could {kind}; leave --hook out.", client.title())));
    }
    let path = match request.project {
        false => client.path(&places),
        true => client.project_path(&places).ok_or_else(|| {
            Error::bad_argument(format!("{} has no configuration of single projects; leave --project out.", client.title()))
        })?,
    };
    if request.project {
        [Some(&path), hooks.as_ref()].into_iter().flatten().try_for_each(|path| setup::in_project(&places.project, path))?;
    }
    let mut changes = Vec::new();
    if request.remove {
        changes.push(setup::remove(client, path)?);
        if let Some(hooks) = hooks {
            setup::remove_hook(client, hooks, &mut changes)?;
        }
    } else {
        let launch = launch(client, &places, roots, options)?;
        changes.push(setup::add(client, &launch, path)?);
        if let (Some(kind), Some(hooks)) = (request.hook, hooks) {
            setup::add_hook(client, kind, &launch, hooks, &mut changes)?;
        }
    }
    changes.retain(|change| !change.is_nothing());
    if changes.is_empty() {
        let how = if request.remove { "is not in the configuration of" } else { "is already set up in" };
        return Ok(say(format!("codeskim {how} {}; nothing is to be done.\n", client.title())));
    }
    let diff: String = changes.iter().map(Change::diff).collect();
    if request.dry_run {
        return Ok(say(diff));
    }
    let _ = io::stdout().lock().write_all(diff.as_bytes());
    if !request.yes && !agreed()? {
        return Ok(say("Nothing was written.\n".to_owned()));
    }
    for change in &changes {
        let kept = change.write()?.map_or_else(String::new, |kept| format!(" The old one is {}.", kept.display()));
        let how = if change.removes() { "removed" } else { "written" };
        let _ = writeln!(io::stdout().lock(), "{} is {how}.{kept}", change.path.display()); // at once: the next may fail
    }
    let next = request.hook.and_then(|_| hooks::next(client)).map_or_else(String::new, |next| format!("{next}\n"));
    Ok(say(if request.remove { String::new() } else { format!("{}\n{next}", client.next()) }))
}

fn say(text: String) -> Output {
    Output::new(text)
}

fn agreed() -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(Error::bad_argument("Nothing was written, as nobody can be asked here; give --yes to write it."));
    }
    let _ = write!(io::stderr().lock(), "Write this? [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Where clients keep their configurations on this machine.
pub(super) fn places() -> Result<Places> {
    let nowhere = |what: &str| Error::bad_argument(format!("There is no {what}; set HOME."));
    Ok(Places {
        home: dirs::home_dir().ok_or_else(|| nowhere("home directory"))?,
        config: dirs::config_dir().ok_or_else(|| nowhere("configuration directory"))?,
        project: std::env::current_dir().map_err(|_| nowhere("working directory"))?,
        variable: |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from),
    })
}

/// How the client is to start this very program.
fn launch(client: Client, places: &Places, roots: &[PathBuf], options: Vec<String>) -> Result<Launch> {
    let own = std::env::current_exe().map_err(|error| Error::bad_argument(format!("codeskim does not know where it is ({error}).")))?;
    let given = roots.iter().map(|root| {
        let whole = canonical(root).map_err(|source| Error::Unreadable { path: quote(&root.display().to_string()), source })?;
        Ok(whole.display().to_string())
    });
    let mut roots = given.collect::<Result<Vec<_>>>()?;
    if roots.is_empty() {
        roots.extend(client.root(places));
    }
    let arguments = roots.into_iter().flat_map(|root| ["--root".to_owned(), root]).chain(options).collect();
    Ok(Launch { command: own.display().to_string(), arguments })
}
