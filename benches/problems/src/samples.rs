//! A data set for classification, as large as the digits of scikit-learn: always the same numbers.

use crate::random::SplitMix64;

/// Samples of several classes: for each class a pattern, and for each sample that pattern with noise.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The samples, row after row; numbers from 0 to 1.
    pub features: Vec<f64>,
    /// The class of each sample.
    pub classes: Vec<usize>,
    /// Numbers in a sample.
    pub width: usize,
}

impl Samples {
    /// 1,797 samples of 64 numbers in 10 classes.
    #[must_use]
    pub fn digits() -> Self {
        Self::draw(1797, 64, 10)
    }

    /// So many samples, of so many numbers and classes.
    #[must_use]
    pub fn draw(count: usize, width: usize, classes: usize) -> Self {
        let mut random = SplitMix64::new(1797);
        let patterns: Vec<f64> = (0..classes * width).map(|_| random.u01()).collect();
        let classes: Vec<usize> = (0..count).map(|k| k % classes).collect();
        let sample = |class: &usize| patterns[class * width..][..width].to_vec();
        let mut features: Vec<f64> = classes.iter().flat_map(sample).collect();
        features.iter_mut().for_each(|x| *x = (*x + random.u01() - 0.5).clamp(0.0, 1.0));
        Self { features, classes, width }
    }

    /// Weights from −1/√width to 1/√width, to begin with.
    #[must_use]
    pub fn weights(count: usize, width: usize) -> Vec<f64> {
        let mut random = SplitMix64::new(64);
        (0..count).map(|_| (2.0 * random.u01() - 1.0) / (width as f64).sqrt()).collect()
    }
}
