//! A last look at each line's log-odds, among those of its neighbours, its block and the whole text, and beside its lexical evidence.
//!
//! The transformer and the CRF see a line among others, but not how far its score stands out from theirs: in one text 0.3 is the best there is,
//! in another it is noise. The network is small and trained by itself, on what the finished model says (`training/refine.py`).

use candle_core::Result;
use candle_nn::VarBuilder;

use super::text::LEXICAL;
use super::tree::CERTAIN;

/// Lines each way of which a line's best neighbour is sought.
const REACH: usize = 8;
/// Numbers that say what a line's log-odds are among.
const SURROUNDINGS: usize = 29;
/// With the lexical evidence of the line.
const INPUTS: usize = SURROUNDINGS + LEXICAL;
/// Of the surroundings, those that are log-odds.
const SCORES: usize = 18;
/// Width of the network.
const WIDTH: usize = 48;

/// What the model says of a text.
pub struct Scores<'a> {
    /// Log-odds that each line is kept, from the CRF and the tree of blocks.
    pub log_odds: &'a [f32],
    /// Those before the CRF.
    pub emission: &'a [f32],
    /// The line that encloses each line, itself at the top.
    pub parent: &'a [usize],
    /// Which lines are blank.
    pub blank: &'a [bool],
    /// Lexical evidence of each line.
    pub lexical: &'a [[f32; LEXICAL]],
    /// Log-odds that anything answers.
    pub answer: f32,
    /// Subtokens of the question.
    pub asked: usize,
}

/// Two layers.
pub struct Refiner {
    /// (INPUTS, WIDTH)
    up: Vec<Vec<f32>>,
    up_bias: Vec<f32>,
    /// (WIDTH, 1)
    down: Vec<f32>,
    down_bias: f32,
}

impl Refiner {
    /// Reads the weights below `refine`.
    pub fn new(vb: &VarBuilder) -> Result<Self> {
        let vb = vb.pp("refine");
        Ok(Self {
            up: vb.get((INPUTS, WIDTH), "up.weight")?.to_vec2()?,
            up_bias: vb.get(WIDTH, "up.bias")?.to_vec1()?,
            down: vb.get((WIDTH, 1), "down.weight")?.flatten_all()?.to_vec1()?,
            down_bias: vb.get(1, "down.bias")?.to_vec1::<f32>()?[0],
        })
    }

    /// The log-odds that each line is kept.
    pub fn refine(&self, scores: &Scores<'_>) -> Vec<f32> {
        let one = |seen: [f32; INPUTS]| {
            let mut hidden = self.up_bias.clone();
            for (weights, seen) in self.up.iter().zip(seen) {
                hidden.iter_mut().zip(weights).for_each(|(hidden, weight)| *hidden += weight * seen);
            }
            self.down_bias + hidden.iter().zip(&self.down).map(|(hidden, weight)| hidden.max(0.0) * weight).sum::<f32>()
        };
        inputs(scores).map(one).collect()
    }
}

/// What each line's log-odds are among, then its lexical evidence.
fn inputs(scores: &Scores<'_>) -> impl Iterator<Item = [f32; INPUTS]> {
    let Scores { log_odds: s, emission, parent, blank, .. } = *scores;
    let n = s.len();
    let (mut best_below, mut best_beside) = (vec![-CERTAIN; n], vec![-CERTAIN; n]);
    let (mut count, mut sum) = (vec![0_u32; n], vec![0.0_f64; n]);
    for (line, &up) in parent.iter().enumerate() {
        if line != up {
            best_below[up] = f32::max(best_below[up], s[line]);
        }
        if !blank[line] {
            best_beside[up] = f32::max(best_beside[up], s[line]);
            count[up] += 1;
            sum[up] += f64::from(s[line]);
        }
    }
    let below: Vec<f32> =
        count.iter().zip(sum).map(|(&count, sum)| if count > 0 { (sum / f64::from(count)) as f32 } else { -CERTAIN }).collect();
    let sums: Vec<f64> = std::iter::once(0.0)
        .chain(s.iter().scan(0.0, |sum, score| {
            *sum += f64::from(*score);
            Some(*sum)
        }))
        .collect();
    let text = whole_text(scores);
    (0..n).map(move |i| {
        let up = parent[i];
        let around = |half: usize| ((sums[(i + half + 1).min(n)] - sums[i.saturating_sub(half)]) / (2 * half + 1) as f64) as f32;
        let away = |step: isize| i.checked_add_signed(step).and_then(|line| s.get(line)).copied().unwrap_or(-CERTAIN);
        // Beyond either end there is nothing to keep.
        let near = s[i.saturating_sub(REACH)..(i + REACH + 1).min(n)].iter().copied().fold(-CERTAIN, f32::max);
        let known: [f32; SCORES] = [
            s[i],
            emission[i].clamp(-CERTAIN, CERTAIN),
            s[up],
            s[parent[up]],
            best_below[i],
            below[i],
            below[up],
            best_beside[up],
            near,
            around(2),
            around(7),
            around(15),
            away(-3),
            away(-2),
            away(-1),
            away(1),
            away(2),
            away(3),
        ];
        let own = [f64::from(count[i]), f64::from(count[up]), (i - up) as f64].map(|number| number.ln_1p() as f32);
        let mut out = [0.0; INPUTS];
        out[..SCORES].copy_from_slice(&known.map(|score| score / 4.0));
        out[SCORES..SCORES + own.len()].copy_from_slice(&own);
        out[SCORES + own.len()..SURROUNDINGS].copy_from_slice(&text);
        out[SURROUNDINGS..].copy_from_slice(&scores.lexical[i]);
        out
    })
}

/// What the whole text is like; all zeros for one without content.
fn whole_text(scores: &Scores<'_>) -> [f32; 8] {
    let mut order: Vec<f32> = scores.log_odds.iter().zip(scores.blank).filter(|(_, blank)| !**blank).map(|(score, _)| *score).collect();
    let m = order.len();
    if m == 0 {
        return [0.0; 8];
    }
    order.sort_by(|a, b| b.total_cmp(a));
    let share = |log_odds: &dyn Fn(f64) -> f64| {
        order.iter().map(|score| 1.0 / (1.0 + (-log_odds(f64::from(*score))).exp())).sum::<f64>() / m as f64
    };
    // How many lines are kept on average, and, last, how many reach about 0.3.
    [
        (share(&|score| score) + 1e-4).ln() as f32,
        order[0] / 4.0,
        order[m / 20] / 4.0,
        order[m / 5] / 4.0,
        scores.answer / 4.0,
        ((m as f64).ln() - 4.0) as f32,
        (scores.asked as f64 / 6.0 - 2.0) as f32,
        (share(&|score| 4.0 * score + 3.4) + 0.01).ln() as f32,
    ]
}
