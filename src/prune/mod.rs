//! From scores to what is shown: which lines are kept, completed to whole statements and their headers, and how the rest is marked.
//!
//! [`decide`] holds the rules that protect the reader: small texts and small savings stay whole, a failed skimmer means the whole text,
//! and a text that does not answer gets its outline. It works on any [`Material`]: a file ([`code::Code`]) or search results.

mod bodies;
pub mod code;
mod component;
mod constants;
mod markdown;
pub mod matches;
pub mod outputs;
mod plain;
mod question;
mod records;
pub mod render;
pub mod select;
pub mod structure;
pub mod terminal;
mod wanted;

use std::ops::Range;
use std::panic::AssertUnwindSafe;

use tokio_util::sync::CancellationToken;

pub use self::question::{FocusQuestion, LONGEST_QUESTION};
use self::render::{Page, Status};
use self::select::Cut;
use self::structure::Header;
use self::wanted::Wanted;
use crate::error::{Error, Result, quote, shorten};
use crate::skim::{Keep, LineScores, SkimError, Skimmer, skim_safely};
use crate::tokens::o200k;

/// Texts of fewer lines are never pruned.
pub const SMALL: usize = 40;
/// A view that costs more than this share of the whole is not worth its gaps.
pub const WORTHWHILE: f64 = 0.8;
/// A definition of so many lines is shown whole when the question names it.
const SHORT_DEFINITION: usize = 40;
/// A name that the question spells out is shown wherever it stands, where it stands on so many lines at most, or on a hundredth of them.
const RARE_NAME: usize = 8;
/// Words of the question named in gaps, at most.
const MOST_WORDS: usize = 4;
/// How likely it is that a line with such a name is wanted: two of three are (`training/LOG.md`).
const MENTIONED: f32 = 0.67;
/// Lines with this share of the threshold's odds are likely enough where few reach it: of odds, and not of the probability, so that a service
/// that moves all log-odds by the same number (`serve --http`) has the same lines picked.
const LIKELY: f32 = 0.274;
/// Scores are lower in long files, and what is missed there costs a call: in longer ones than this, in lines, the odds of the threshold fall with this
/// power of their length, to this share at most. The figures are in `training/LOG.md`.
const LONG: f32 = 188.0;
const HOW_MUCH_LOWER: f32 = 1.2;
const LOWEST: f32 = 0.2;
/// Times the odds in a part of a file: whoever gives a range knows where to look.
const IN_PART: f32 = 1.08;
/// Times the odds where the lines may not answer at all.
const IN_DOUBT: f32 = 1.5;
/// Tokens set aside for the header of a view, beside the name in it.
const HEADER_TOKENS: usize = 60;

/// Says that names do not occur, if there are any.
fn not_there(names: &[&str], lines: usize) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| quote(name)).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| format!("{} {are} on none of the {lines} lines.", quoted.join(", ")))
}

/// A threshold with so many times the odds.
fn with_odds(times: f32, threshold: f32) -> f32 {
    times * threshold / (1.0 - threshold + times * threshold)
}

/// Lines that are few among so many: they are shown for what is on them.
fn few_of(lines: usize) -> usize {
    RARE_NAME.max(lines / 100)
}

/// Whether a character may be in a name.
fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A stretch of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Lines that are shown.
    Lines(Range<usize>),
    /// Lines that are left out.
    Gap(Range<usize>),
}

/// Splits a text into shown and left-out stretches, in order and without remainder. `kept` has one flag a line.
pub fn pieces(kept: &[bool]) -> Vec<Piece> {
    let mut start = 0;
    kept.chunk_by(|a, b| a == b)
        .map(|run| {
            let range = start..start + run.len();
            start = range.end;
            if run[0] { Piece::Lines(range) } else { Piece::Gap(range) }
        })
        .collect()
}

/// Bytes that a line is indented by.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The left-out stretches alone.
pub fn gaps(kept: &[bool]) -> Vec<Range<usize>> {
    pieces(kept).into_iter().filter_map(|piece| if let Piece::Gap(gap) = piece { Some(gap) } else { None }).collect()
}

/// How much may be shown.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Longest result, in characters. Some clients cut there.
    pub most: usize,
    /// Longest pruned result, in o200k tokens; one line is shown in any case.
    pub tokens: Option<usize>,
    /// Which of the skimmer's thresholds decides.
    pub keep: Keep,
}

impl Default for Limits {
    fn default() -> Self {
        Self { most: 20_000, tokens: None, keep: Keep::default() }
    }
}

impl Limits {
    /// What may be shown beside a name in the header.
    pub fn beside(&self, name: &str) -> Self {
        Self { tokens: self.tokens.map(|most| most.saturating_sub(o200k(name))), ..self.clone() }
    }
}

/// A definition that holds no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// All its lines.
    pub lines: Range<usize>,
    /// Those after its header.
    pub body: Range<usize>,
    /// Its name, where the grammar tells; after that of what it is in where the text has several.
    pub name: Option<String>,
    /// What is said of it inside its body: Python's docstring.
    pub doc: Range<usize>,
    /// Whether it is code: shown whole or as its signature where it is short, and with what its lines need where it is long.
    pub is_code: bool,
}

/// Something in a gap that is named there, so that a reader who misses it knows what to ask for: a definition that is left out, whole or below its
/// header, or a word of the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// Those of its lines that are left out.
    pub lines: Range<usize>,
    /// Its name, after that of what it is in where the text has several: `Store.get`.
    pub name: String,
    /// Whether its lines are told, too.
    pub with_lines: bool,
}

/// Something that can be shown in part.
pub trait Material: Sync {
    /// The lines as the skimmer reads them.
    fn lines(&self) -> &[&str];
    /// Adds what the kept lines cannot be understood without.
    fn complete(&self, kept: &mut [bool]);
    /// Finds out what it will be asked of the text, beside the skimmer.
    fn prepare(&self) {}
    /// What the reader should know about how its lines go together, in a sentence.
    fn note(&self) -> Option<String> {
        None
    }
    /// The definitions that the question names.
    fn named(&self, question: &FocusQuestion) -> Vec<Header>;
    /// The lines that are wanted because of what is asked, or with those for which `picked` is set.
    fn wanted_with(&self, _question: &FocusQuestion, _picked: &[bool]) -> Vec<usize> {
        Vec::new()
    }
    /// The definitions that hold no other, in order.
    fn definitions(&self) -> Vec<Definition>;
    /// Names that the question spells out and that are nowhere in it.
    fn absent<'a>(&self, _question: &'a FocusQuestion) -> Vec<&'a str> {
        Vec::new()
    }
    /// What to show when nothing answers, the lines among it on which a rare name of the question stands.
    fn outline(&self, scores: &LineScores, mentioned: &[usize]) -> Vec<bool>;
    /// Where outside of it rare words of the question stand, in a sentence.
    fn elsewhere(&self, _question: &FocusQuestion) -> Option<String> {
        None
    }
    /// Whether it is only a part of a text.
    fn is_part(&self) -> bool {
        false
    }
    /// What is in the gaps, by name, as far as it can be told: a few names of each, or, where nothing answers, many with their lines.
    fn contents(&self, _kept: &[bool], _answered: bool) -> Vec<Pointer> {
        Vec::new()
    }
    /// Whether a line may be picked for its own score.
    fn can_pick(&self, line: usize) -> bool;
    /// The view without its header: kept lines, and gaps for the rest.
    fn view(&self, kept: &[bool], pointers: &[Pointer]) -> String;
    /// Length of the view in characters with an ordinary header.
    fn cost(&self, kept: &[bool], pointers: &[Pointer]) -> usize;
    /// What a view may cost so that it fits into `most` characters whatever its header says.
    fn room(&self, most: usize) -> usize;
}

/// What to show, one flag a line.
#[derive(Debug)]
pub enum Decision {
    /// Everything: the text is small, or little would be saved.
    Whole,
    /// Everything, because there are no scores, or something went wrong with them.
    Failed(SkimError),
    /// The lines that answer.
    Partial(View),
    /// Nothing answers; the outline.
    Unanswered(View),
}

impl Decision {
    /// What is shown of so many lines, one flag a line.
    pub fn kept(&self, lines: usize) -> Vec<bool> {
        match self {
            Self::Partial(view) | Self::Unanswered(view) => view.kept.clone(),
            Self::Whole | Self::Failed(_) => vec![true; lines],
        }
    }

    /// What is shown of a text of which not all is, and what its header says of that.
    pub fn view(&self) -> (Option<&View>, Status<'_>) {
        match self {
            Self::Whole => (None, Status::Exact),
            Self::Failed(error) => (None, Status::Failed(error)),
            Self::Partial(view) => (Some(view), Status::Pruned { doubtful: view.doubtful }),
            Self::Unanswered(view) => (Some(view), Status::Unanswered),
        }
    }

    /// Renders what is shown of the lines of a page, in at most `most` characters.
    pub fn render(&self, page: &Page<'_>, most: usize) -> String {
        let (view, status) = self.view();
        let (pointers, note) = view.map_or((&[][..], None), |view| (view.pointers.as_slice(), view.note.as_deref()));
        render::page(&Page { pointers, note, ..*page }, &self.kept(page.lines.len()), status, most)
    }
}

/// What is shown of a text.
#[derive(Debug)]
pub struct View {
    /// One flag a line.
    pub kept: Vec<bool>,
    /// Definitions named in its gaps, in order.
    pub pointers: Vec<Pointer>,
    /// Whether it may well not answer.
    pub doubtful: bool,
    /// What the reader should know about where the scores are from, and which names are nowhere, in sentences.
    pub note: Option<String>,
}

/// Decides what to show of `material`.
///
/// # Errors
/// Only a cancelled call; any other failure is a [`Decision::Failed`].
pub fn decide(
    material: &dyn Material,
    question: &FocusQuestion,
    skimmer: &dyn Skimmer,
    limits: &Limits,
    cancel: &CancellationToken,
) -> Result<Decision> {
    decide_by(material, question, || skim_safely(skimmer, material.lines(), question.as_str(), cancel), limits, cancel)
}

/// [`decide`] by scores from anywhere; they are asked for only where they matter.
///
/// # Errors
/// As those of [`decide`].
pub fn decide_by(
    material: &dyn Material,
    question: &FocusQuestion,
    score: impl FnOnce() -> std::result::Result<LineScores, SkimError>,
    limits: &Limits,
    cancel: &CancellationToken,
) -> Result<Decision> {
    // Whatever goes wrong in here, the reader gets the text.
    let decision = std::panic::catch_unwind(AssertUnwindSafe(|| choose(material, question, score, limits, cancel)));
    match decision.unwrap_or(Err(SkimError::Panicked)) {
        Err(SkimError::Cancelled) => Err(Error::Cancelled),
        Err(error) => {
            tracing::warn!(%error, "nothing was pruned");
            Ok(Decision::Failed(error))
        }
        Ok(decision) => Ok(decision),
    }
}

/// What to show where nothing goes wrong.
fn choose(
    material: &dyn Material,
    question: &FocusQuestion,
    score: impl FnOnce() -> std::result::Result<LineScores, SkimError>,
    limits: &Limits,
    cancel: &CancellationToken,
) -> std::result::Result<Decision, SkimError> {
    let lines = material.lines();
    let everything = vec![true; lines.len()];
    let whole = material.cost(&everything, &[]);
    let within = |kept: &[bool], pointers: &[Pointer], header: usize| {
        limits.tokens.is_none_or(|most| o200k(&material.view(kept, pointers)) + header <= most)
    };
    let whole_fits = whole <= limits.most && within(&everything, &[], HEADER_TOKENS);
    if lines.len() == 1 || lines.len() < SMALL && whole_fits {
        return Ok(Decision::Whole);
    }
    // A twentieth of the time of a short text goes into its syntax, on one core, so it is read beside the skimmer.
    let (scored, named) = std::thread::scope(|scope| {
        let named = scope.spawn(|| {
            material.prepare();
            material.named(question)
        });
        (score(), named.join())
    });
    let (mut scores, named) = (scored?, named.map_err(|_| SkimError::Panicked)?);
    let notes = scores.note.take().into_iter().chain(not_there(&material.absent(question), lines.len())).chain(material.note());
    scores.note = notes.reduce(|a, b| format!("{a} {b}"));
    let doubtful = named.is_empty() && scores.answer < scores.thresholds.doubt;
    let said = doubtful.then_some(render::DOUBT).into_iter().chain(scores.note.as_deref());
    let header = HEADER_TOKENS + said.map(|said| o200k(&shorten(said))).sum::<usize>();
    let worth = |kept: &[bool]| !whole_fits || material.cost(kept, &[]) as f64 <= whole as f64 * WORTHWHILE;
    // Whoever names a definition wants to see it, whatever the skimmer says: the header for sure, the rest if it is short.
    let shown =
        |definition: &Header| if definition.whole.len() <= SHORT_DEFINITION { definition.whole.clone() } else { definition.rows.clone() };
    let mut enough = scores.thresholds.keep(limits.keep);
    let usual = enough;
    enough = match (material.is_part(), doubtful) {
        (true, false) => with_odds(IN_PART, usual),
        (true, true) => with_odds(IN_PART * IN_DOUBT, usual),
        (false, true) => with_odds(IN_DOUBT, usual),
        (false, false) if limits.keep == Keep::Balanced => {
            with_odds((LONG / lines.len() as f32).powf(HOW_MUCH_LOWER).clamp(LOWEST, 1.0), usual)
        }
        (false, false) => usual,
    };
    let mentioned = question.mentioned_on(lines);
    mentioned.iter().for_each(|line| scores.keep[*line] = scores.keep[*line].max(enough).max(MENTIONED));
    named.iter().flat_map(shown).for_each(|line| scores.keep[line] = 1.0);
    let picked: Vec<bool> = scores.keep.iter().map(|score| *score >= enough).collect();
    material.wanted_with(question, &picked).into_iter().for_each(|line| scores.keep[line] = scores.keep[line].max(enough));
    if scores.answer < scores.thresholds.answer && named.is_empty() {
        let mut kept = material.outline(&scores, &mentioned);
        select::fill_cheap_gaps(&mut kept, lines);
        let kept = select::first_that_fit(kept, |kept| within(kept, &[], header));
        let mut pointers = material.contents(&kept, false);
        let fits = |pointers: &[Pointer]| material.cost(&kept, pointers) <= material.room(limits.most) && within(&kept, pointers, header);
        while !fits(&pointers) && pointers.pop().is_some() {}
        let note = [scores.note, material.elsewhere(question)].into_iter().flatten().reduce(|a, b| format!("{a} {b}"));
        let view = View { kept, pointers, doubtful: false, note };
        return Ok(if worth(&view.kept) { Decision::Unanswered(view) } else { Decision::Whole });
    }
    let pickable: Vec<bool> = (0..lines.len()).map(|line| material.can_pick(line)).collect();
    let definitions = material.definitions();
    select::open_bodies(&mut scores.keep, enough, &pickable, &definitions);
    let complete = |kept: &mut [bool]| {
        if !cancel.is_cancelled() {
            bodies::settle(kept, lines, &definitions, &scores.keep, enough);
            material.complete(kept);
            select::fill_cheap_gaps(kept, lines);
        }
    };
    let view_fits =
        |kept: &[bool], pointers: &[Pointer]| material.cost(kept, pointers) <= material.room(limits.most) && within(kept, pointers, header);
    let likely = if limits.keep == Keep::Strict || doubtful { enough } else { with_odds(LIKELY, usual).min(enough) };
    let kept = select::select(&scores.keep, Cut { enough, likely }, &pickable, complete, |kept| view_fits(kept, &[]));
    if cancel.is_cancelled() {
        return Err(SkimError::Cancelled);
    }
    let says_something = kept.contains(&true); // brackets alone are never picked
    if !says_something || !worth(&kept) {
        return Ok(Decision::Whole);
    }
    let mut pointers = Vec::new();
    let name = |pointers: &mut Vec<Pointer>, pointer: Pointer| {
        let at = pointers.partition_point(|other: &Pointer| other.lines.start < pointer.lines.start);
        pointers.insert(at, pointer);
        let fits = view_fits(&kept, pointers);
        if !fits {
            pointers.remove(at);
        }
        fits
    };
    for pointer in select::likeliest_left_out(&definitions, &kept, lines, &scores) {
        if !name(&mut pointers, pointer) {
            break;
        }
    }
    for pointer in words_left_out(question, &kept, lines) {
        name(&mut pointers, pointer);
    }
    for pointer in without_words(material.contents(&kept, true), &pointers, &kept) {
        name(&mut pointers, pointer);
    }
    Ok(Decision::Partial(View { kept, pointers, doubtful, note: scores.note }))
}

/// The rare words of the question that stand on left out lines and on no line that is shown, each with the first of these.
fn words_left_out(question: &FocusQuestion, kept: &[bool], lines: &[&str]) -> Vec<Pointer> {
    let left_out = question.rare_words(lines).into_iter().filter(|(_, on)| !on.iter().any(|line| kept[*line]));
    let pointer = |(word, on): (&str, Vec<usize>)| Pointer { lines: on[0]..on[0] + 1, name: format!("\"{word}\""), with_lines: true };
    left_out.map(pointer).take(MOST_WORDS).collect()
}

/// What is in those gaps of which nothing is said.
fn without_words(contents: Vec<Pointer>, said: &[Pointer], kept: &[bool]) -> Vec<Pointer> {
    let silent: Vec<Range<usize>> =
        gaps(kept).into_iter().filter(|gap| !said.iter().any(|pointer| gap.contains(&pointer.lines.start))).collect();
    contents.into_iter().filter(|pointer| silent.iter().any(|gap| gap.contains(&pointer.lines.start))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::Reader;

    #[test]
    fn pieces_partition_the_text() {
        assert_eq!(pieces(&[true, false, false, true]), [Piece::Lines(0..1), Piece::Gap(1..3), Piece::Lines(3..4)]);
        assert!(pieces(&[]).is_empty());
    }

    /// Scores each line as it is told, by its number.
    struct Told<F>(F);

    impl<F: Fn(usize) -> f32 + Send + Sync> Skimmer for Told<F> {
        fn skim(&self, lines: &[&str], _: &str, _: &CancellationToken) -> std::result::Result<LineScores, SkimError> {
            let thresholds = crate::skim::Thresholds { strict: 0.5, balanced: 0.5, generous: 0.2, answer: 0.5, doubt: 0.5 };
            Ok(LineScores { keep: (0..lines.len()).map(&self.0).collect(), answer: 0.9, thresholds, note: None })
        }
    }

    #[test]
    fn a_gap_names_the_likeliest_of_the_definitions_in_it() {
        let function = |i: usize| format!("class C{i}:\n    def step_{i}(self):\n        a = {i}\n        b = a * a\n        return b\n");
        let text: String = (0..40).map(function).collect();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let score = |line: usize| match line / 5 {
            20 => 0.9,
            3 | 30 => 0.1 + 0.0001 * line as f32,
            10 => 0.01,
            _ => 0.0,
        };
        let (reader, cancel) = (Reader::unguarded(), CancellationToken::new());
        let access = reader.access(&cancel);
        let (question, code) = (FocusQuestion::new("What is returned?").expect("a question"), code::Code::new("a.py", &lines, 0, &access));
        let view = |limits: &Limits| match decide(&code, &question, &Told(score), limits, &CancellationToken::new()).expect("a decision") {
            Decision::Partial(view) => code.view(&view.kept, &view.pointers),
            other => panic!("{other:?}"),
        };
        let shown = lines[100..105].concat();
        assert_eq!(view(&Limits::default()), format!("⋮ 1-100: step_3 17-20\n{shown}⋮ 106-200: step_30 152-155\n"));
        let tight = Limits { tokens: Some(HEADER_TOKENS + o200k(&format!("⋮ 1-100\n{shown}⋮ 106-200\n")) + 9), ..Limits::default() };
        assert_eq!(view(&tight), format!("⋮ 1-100\n{shown}⋮ 106-200: step_30 152-155\n"));
    }

    #[test]
    fn a_gap_names_what_kept_lines_name_and_what_it_hides_of_a_shown_header() {
        let body = |name: &str| format!("    def {name}(self):\n        a = 1\n        b = a\n        c = b\n        return c\n\n");
        let names = ["start", "stop", "reset", "flush", "drain", "close"];
        let class = |class: &str| format!("class {class}:\n{}", names.map(body).concat());
        let text = [class("Store"), class("Cache")].concat().replacen("a = 1", "self.drain()", 1);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let score = |line: usize| match line {
            1..=5 => 0.9,
            13 => 0.8,
            _ => 0.0,
        };
        let (reader, cancel) = (Reader::unguarded(), CancellationToken::new());
        let access = reader.access(&cancel);
        let (question, code) = (FocusQuestion::new("What is started?").expect("a question"), code::Code::new("a.py", &lines, 0, &access));
        let decision = decide(&code, &question, &Told(score), &Limits::default(), &CancellationToken::new()).expect("a decision");
        let Decision::Partial(view) = decision else { panic!("{decision:?}") };
        let gaps: Vec<String> =
            code.view(&view.kept, &view.pointers).lines().filter(|line| line.starts_with('⋮')).map(str::to_owned).collect();
        assert_eq!(gaps, ["⋮ 7-13: Store.stop", "⋮ 15-74: Store.reset 15-18, Store.drain 26-30"]);
    }

    #[test]
    fn a_definition_that_is_named_comes_first_where_little_fits() {
        let text: Vec<String> = (0..60).map(|i| format!("def step_{i}():\n    return {i} * factor + offset\n")).collect();
        let text = text.concat();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let question = FocusQuestion::new("What does step_47 return?").expect("a question");
        let limits = Limits { tokens: Some(200), ..Limits::default() };
        let (reader, cancel) = (Reader::unguarded(), CancellationToken::new());
        let access = reader.access(&cancel);
        let code = code::Code::new("a.py", &lines, 0, &access);
        let decision = decide(&code, &question, &Told(|_| 0.9), &limits, &CancellationToken::new()).expect("a decision");
        let kept = decision.kept(lines.len());
        assert!(kept[94] && kept[95] && kept.iter().filter(|kept| **kept).count() < 60, "{kept:?}");
    }
}
