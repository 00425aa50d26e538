//! A linear-chain CRF over keep and drop: a line is likelier kept beside a kept line.

use candle_core::Result;
use candle_nn::VarBuilder;

/// Transition weights, trained with the model. State 0 drops, 1 keeps.
pub struct Crf {
    /// `[from][to]`
    transition: [[f64; 2]; 2],
    start: [f64; 2],
    end: [f64; 2],
}

impl Crf {
    /// Reads `transition` (2, 2) and `ends` (2, 2: start, end).
    pub fn new(vb: &VarBuilder) -> Result<Self> {
        let pair = |name: &str| -> Result<[[f64; 2]; 2]> {
            let rows = vb.get((2, 2), name)?.to_vec2::<f32>()?;
            Ok([[rows[0][0].into(), rows[0][1].into()], [rows[1][0].into(), rows[1][1].into()]])
        };
        let [start, end] = pair("ends")?;
        Ok(Self { transition: pair("transition")?, start, end })
    }

    /// The log-odds of keeping each line among the others, by forward-backward. `emission` is that of each line on its own.
    pub fn log_odds(&self, emission: &[f32]) -> Vec<f32> {
        let unary = |i: usize| {
            let half = f64::from(emission[i]) / 2.0;
            [-half, half]
        };
        let n = emission.len();
        let mut forward = Vec::with_capacity(n);
        for i in 0..n {
            let own = unary(i);
            let before: [f64; 2] = match forward.last() {
                None => self.start,
                Some(last) => [0, 1].map(|to| {
                    log_sum([0, 1].map(|from: usize| {
                        let last: &[f64; 2] = last;
                        last[from] + self.transition[from][to]
                    }))
                }),
            };
            forward.push([before[0] + own[0], before[1] + own[1]]);
        }
        let mut after = self.end;
        let mut out = vec![0.0; n];
        for i in (0..n).rev() {
            let (drop, keep) = (forward[i][0] + after[0], forward[i][1] + after[1]);
            out[i] = (keep - drop) as f32;
            let own = unary(i);
            after = [0, 1].map(|from: usize| log_sum([0, 1].map(|to: usize| self.transition[from][to] + own[to] + after[to])));
        }
        out
    }
}

fn log_sum([a, b]: [f64; 2]) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    high + (low - high).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every path counted: the definition itself.
    fn by_enumeration(crf: &Crf, emission: &[f32]) -> Vec<f32> {
        let n = emission.len();
        let mut kept = vec![0.0; n];
        let mut total = 0.0;
        for path in 0..1usize << n {
            let state = |i: usize| path >> i & 1;
            let mut weight = crf.start[state(0)] + crf.end[state(n - 1)];
            for (i, emission) in emission.iter().enumerate() {
                weight += f64::from(*emission) / 2.0 * if state(i) == 1 { 1.0 } else { -1.0 };
                if i > 0 {
                    weight += crf.transition[state(i - 1)][state(i)];
                }
            }
            total += weight.exp();
            (0..n).filter(|i| state(*i) == 1).for_each(|i| kept[i] += weight.exp());
        }
        kept.iter().map(|k| (k / (total - k)).ln() as f32).collect()
    }

    #[test]
    fn log_odds_equal_the_sum_over_all_paths() {
        let crf = Crf { transition: [[1.2, -0.7], [-1.1, 0.9]], start: [0.3, -0.4], end: [0.1, 0.2] };
        let emission = [0.5, -3.0, 2.0, 0.1, -0.2, 4.0, -1.0];
        let expected = by_enumeration(&crf, &emission);
        for (a, b) in crf.log_odds(&emission).iter().zip(expected) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
        assert!(crf.log_odds(&[]).is_empty());
    }
}
