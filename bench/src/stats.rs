//! Medians, and how far the rounds were apart.

/// What a list of rounds says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// The summary of `rounds`; `None` of none.
pub(crate) fn summary(rounds: &[f64]) -> Option<Summary> {
    let mut sorted = rounds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    };
    Some(Summary { median, least, most })
}

/// The median of the ratios `above[i] / below[i]`: what two candidates differ by within the same round.
pub(crate) fn paired_ratio(above: &[f64], below: &[f64]) -> Option<f64> {
    let ratios: Vec<f64> = above.iter().zip(below).map(|(a, b)| a / b).collect();
    summary(&ratios).map(|ratios| ratios.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_of_rounds_lies_between_the_middle_two() {
        let summary = summary(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((summary.least, summary.median, summary.most), (1.0, 2.5, 4.0));
    }

    #[test]
    fn ratios_are_taken_within_rounds_not_between_medians() {
        assert_eq!(paired_ratio(&[10.0, 300.0, 20.0], &[5.0, 100.0, 10.0]), Some(2.0));
        assert_eq!(paired_ratio(&[], &[]), None);
    }
}
