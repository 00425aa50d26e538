//! Scores lean on the tree of blocks: a line on the one that encloses it, and that one on the best of those it encloses.
//!
//! A reader who needs a statement needs the header it stands under, and what stands under a header that answers is likelier to. The CRF knows
//! only neighbours. The two weights were chosen on training windows (`training/LOG.md`).

/// Weight of the enclosing line.
const ABOVE: f32 = 0.2;
/// Weight of the best enclosed line.
const BELOW: f32 = 0.5;
/// Log-odds beyond this are as good as certain.
pub const CERTAIN: f32 = 6.0;

/// `parent` is the line that encloses each line by indentation, itself at the top.
pub fn lean(log_odds: &[f32], parent: &[usize]) -> Vec<f32> {
    let sure: Vec<f32> = log_odds.iter().map(|x| x.clamp(-CERTAIN, CERTAIN)).collect();
    let under: Vec<f32> = parent.iter().zip(&sure).map(|(up, own)| own + ABOVE * (sure[*up] - own)).collect();
    let mut best: Vec<Option<f32>> = vec![None; under.len()];
    for (line, up) in parent.iter().enumerate().filter(|(line, up)| line != *up) {
        best[*up] = Some(best[*up].map_or(under[line], |best| best.max(under[line])));
    }
    under.iter().zip(best).map(|(own, best)| own + BELOW * (best.unwrap_or(*own) - own)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_what_they_enclose_lean_on_each_other() {
        // fn a { x; y } and, outside, z
        let leaned = lean(&[-2.0, 4.0, -3.0, -3.0], &[0, 0, 0, 3]);
        let (x, y) = (4.0 + ABOVE * -6.0, -3.0 + ABOVE * 1.0);
        assert_eq!(leaned, [-2.0 + BELOW * (x + 2.0), x, y, -3.0]);
        assert_eq!(lean(&[90.0], &[0]), [CERTAIN]);
        assert!(lean(&[], &[]).is_empty());
    }
}
